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
