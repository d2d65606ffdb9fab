/** The 20 department values, in the spelling and order of contract section 2.2. */
export const DEPARTMENTS = [
  "Administrative",
  "C-Suite",
  "Consulting",
  "Customer Service",
  "Design",
  "Education",
  "Engineering and Technical",
  "Finance & Accounting",
  "Human Resources",
  "Legal",
  "Marketing",
  "Medical",
  "Operations",
  "Other",
  "Product",
  "Project Management",
  "Real Estate",
  "Research",
  "Sales",
  "Trades",
] as const;

export type Department = (typeof DEPARTMENTS)[number];

/** The ladder of `seniority_level` (api-decisions). */
export const SENIORITY_LEVELS = [
  "owner",
  "partner",
  "c-suite",
  "vp",
  "head",
  "director",
  "manager",
  "senior",
  "entry",
  "intern",
] as const;
