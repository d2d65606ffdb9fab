// Earlier entries are more frequent. A change here changes every generated dataset: raise `SAMPLE_VERSION` with it.

export const ROLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "Engineering and Technical": {
    "Software Engineering":
      "Software Engineer|Backend Engineer|Frontend Developer|Full Stack Developer|Développeur logiciel|Softwareentwickler|ソフトウェアエンジニア|Mobile Developer|DevOps Engineer",
    "Information Technology":
      "Systems Administrator|Network Engineer|Cloud Architect|Security Engineer|IT Support Specialist",
    "Data Science": "Data Engineer|Data Scientist|Machine Learning Engineer|Data Analyst",
    Engineering: "Mechanical Engineer|Electrical Engineer|Process Engineer|Ingénieur d'études|QA Engineer",
  },
  Sales: {
    "Business Development":
      "Account Executive|Business Development Representative|Sales Representative|Responsable commercial",
    "Account Management":
      "Account Manager|Sales Engineer|Key Account Manager|Vertriebsmitarbeiter|Inside Sales Representative",
  },
  Operations: {
    "Business Operations": "Operations Analyst|Operations Coordinator|Business Operations Specialist",
    "Supply Chain": "Supply Chain Planner|Logistics Coordinator|Buyer|Warehouse Supervisor|Encargado de logística",
  },
  Marketing: {
    "Product Marketing": "Product Marketer|Brand Strategist|Marketing Specialist",
    "Growth Marketing": "Growth Marketer|Content Strategist|SEO Specialist|Social Media Specialist|Chargé de marketing",
  },
  "Finance & Accounting": {
    Accounting: "Accountant|Auditor|Bookkeeper|Buchhalter|Tax Specialist",
    Finance: "Financial Analyst|Controller|Treasury Analyst|Investment Analyst|Analista financiero",
  },
  Education: {
    Teaching: "Teacher|Lecturer|Professor|Professeur|Profesora",
    "Academic Administration": "Academic Advisor|Curriculum Developer|Instructional Designer",
  },
  Medical: {
    Nursing: "Registered Nurse|Nurse Practitioner|Krankenpfleger|Enfermera",
    "Clinical Practice": "Physician|Pharmacist|Physiotherapist|Médecin|Dentist",
  },
  "Human Resources": {
    Recruiting: "Recruiter|Talent Acquisition Partner|Talent Sourcer",
    "People Operations": "HR Generalist|HR Business Partner|Compensation Analyst",
  },
  "Customer Service": {
    "Customer Support": "Customer Support Specialist|Support Engineer|Call Center Agent",
    "Customer Success": "Customer Success Manager|Onboarding Specialist",
  },
  Administrative: {
    "Office Administration": "Administrative Assistant|Office Coordinator|Secrétaire",
    "Executive Support": "Executive Assistant|Receptionist",
  },
  "C-Suite": {
    "Executive Leadership":
      "Chief Executive Officer|Chief Operating Officer|Managing Director|Geschäftsführer|Founder & CEO",
    "Technology Leadership":
      "Chief Technology Officer|Chief Financial Officer|Chief Marketing Officer|Chief Product Officer",
  },
  Consulting: {
    "Management Consulting": "Consultant|Strategy Consultant|Business Analyst|Unternehmensberater",
    "Technology Consulting": "Solutions Consultant|Implementation Consultant",
  },
  Other: {
    "General Services": "Freelancer|Volunteer|Student|Specialist|Associate",
    "Public Service": "Civil Servant|Policy Officer|Clergy",
  },
  Design: {
    "Product Design": "Product Designer|UX Designer|UX Researcher|UI Designer",
    "Visual Design": "Graphic Designer|Art Director|Diseñador gráfico",
  },
  Product: {
    "Product Management": "Product Manager|Product Owner",
    "Product Operations": "Product Analyst|Product Operations Specialist",
  },
  "Project Management": {
    "Program Management": "Program Manager|Scrum Master",
    "Project Delivery": "Project Manager|Project Coordinator|Chef de projet|Projektleiter",
  },
  Research: {
    "Scientific Research": "Research Scientist|Laboratory Technician|Postdoctoral Researcher",
    "Market Research": "Research Analyst|Research Assistant",
  },
  Legal: { "Corporate Law": "Lawyer|Legal Counsel|Rechtsanwalt|Avocat", Compliance: "Compliance Officer|Paralegal" },
  Trades: {
    Construction: "Electrician|Carpenter|Plumber|Welder",
    Maintenance: "Maintenance Technician|HVAC Technician|Mechanic",
  },
  "Real Estate": {
    Brokerage: "Real Estate Agent|Real Estate Broker",
    "Property Management": "Property Manager|Leasing Consultant",
  },
};

/** How many people of 1,000 work in a department, in the order of {@link ROLES}. */
export const DEPARTMENT_WEIGHTS: readonly number[] = [
  172, 118, 96, 72, 70, 68, 62, 46, 46, 44, 40, 36, 34, 26, 20, 18, 12, 10, 6, 4,
];

/** `level:label:weight:pattern`, where `%` stands for the role, `#` for the functional area and `@` for the department. */
export const LEVELS: readonly {
  readonly level: string;
  readonly label: string;
  readonly weight: number;
  readonly pattern: string;
}[] = [
  { level: "senior", label: "Mid-Senior", weight: 220, pattern: "%" },
  { level: "senior", label: "Senior", weight: 200, pattern: "Senior %" },
  { level: "entry", label: "Entry", weight: 150, pattern: "%" },
  { level: "entry", label: "Entry", weight: 70, pattern: "Junior %" },
  { level: "entry", label: "Associate", weight: 60, pattern: "Associate %" },
  { level: "manager", label: "Manager", weight: 110, pattern: "# Manager" },
  { level: "senior", label: "Lead", weight: 50, pattern: "Lead %" },
  { level: "director", label: "Director", weight: 40, pattern: "Director of #" },
  { level: "intern", label: "Intern", weight: 30, pattern: "# Intern" },
  { level: "head", label: "Head", weight: 20, pattern: "Head of #" },
  { level: "vp", label: "VP", weight: 14, pattern: "VP of @" },
  { level: "vp", label: "VP", weight: 6, pattern: "Vice President, #" },
  { level: "owner", label: "Owner", weight: 18, pattern: "Owner" },
  { level: "partner", label: "Partner", weight: 12, pattern: "Partner, @" },
];

export const INDUSTRIES =
  "Software Development|IT Services and IT Consulting|Hospitals and Health Care|Financial Services|Higher Education|Retail|Construction|Advertising Services|Business Consulting and Services|Real Estate|Banking|Manufacturing|Telecommunications|Insurance|Government Administration|Non-profit Organizations|Food and Beverage Services|Hospitality|Accounting|Law Practice|Transportation and Logistics|Oil and Gas|Pharmaceutical Manufacturing|Motor Vehicle Manufacturing|Medical Devices|Education|Research Services|Design Services|Staffing and Recruiting|Human Resources Services|Computer Games|Media Production|Entertainment Providers|Civil Engineering|Mechanical Engineering|Electrical Equipment|Aviation and Aerospace|Defense and Space|Utilities|Renewable Energy|Mining|Chemical Manufacturing|Agriculture|Farming|Fisheries|Forestry and Logging|Textile Manufacturing|Apparel and Fashion|Luxury Goods and Jewelry|Cosmetics|Consumer Goods|Consumer Electronics|Semiconductors|Computer Hardware|Computer Networking|Data Security|Internet Publishing|E-learning|Biotechnology|Veterinary Services|Mental Health Care|Wellness and Fitness|Sports|Recreational Facilities|Gambling and Casinos|Travel Arrangements|Airlines|Maritime Transportation|Railroads|Warehousing|Freight|Packaging|Paper Products|Plastics|Glass, Ceramics and Concrete|Building Materials|Architecture and Planning|Interior Design|Furniture|Printing|Publishing|Newspapers|Broadcast Media|Music|Motion Pictures|Animation|Performing Arts|Fine Art|Museums|Libraries|Translation|Writing and Editing|Photography|Events Services|Public Relations|Market Research|Think Tanks|Public Policy|International Affairs|Political Organizations|Law Enforcement|Public Safety|Military|Judiciary|Legal Services|Alternative Dispute Resolution|Capital Markets|Investment Banking|Investment Management|Venture Capital|Wholesale|Import and Export|Supermarkets|Restaurants|Dairy|Tobacco|Wine and Spirits|Environmental Services|Security and Investigations|Facilities Services|Individual and Family Services|Religious Institutions|Civic and Social Organizations|Philanthropy|Fundraising|Primary Education|Professional Training|Outsourcing|Program Development|Executive Offices|Nanotechnology|Industrial Automation|Machinery|Shipbuilding|Space Research|Robotics|Blockchain Services|Climate Technology|Mobility Services|Ride Sharing|Food Production|Pet Services|Childcare|Elder Care|Funeral Services|Household Services|Repair Services|Equipment Rental|Leasing|Credit Unions|Microfinance|Telehealth".split(
    "|",
  );

export const COMPANY_HEADS =
  "Blue Bright Silver North Green Red Clear Iron Summit River Stone Cedar Golden True Prime Nova Quantum Vertex Lumen Apex Orbit Pixel Cobalt Ember Falcon Granite Harbor Indigo Juniper Kestrel Lunar Maple Nimbus Onyx Pioneer Quartz Raven Sierra Terra Umber Velvet Willow Zephyr Atlas Beacon Copper Delta Echo Fathom Glacier Helix Ivory Jade Keystone Lattice Meridian Nordström/nordstrom Öresund/oresund Éclair/eclair Señora/senora Zürich/zurich Über/uber Łódź/lodz 東雲/shinonome".split(
    " ",
  );
export const COMPANY_TAILS =
  "Harbor Peak Forge Works Logic Systems Dynamics Bridge Path Field Wave Grid Cloud Stack Line Point Gate Spring Crest Ridge Vale Haven Mark Craft House Mill Port Rock Shore Star Stream Tower Tree View Way Wood Yard Link Loop Mesh Node Cell Core Edge Flow Pulse Spark Sphere Scope Scale Shift Sense Signal Source Space Trust Vault Vision".split(
    " ",
  );
export const COMPANY_ENDS = "Inc|Labs|Group|GmbH|Ltd|Partners|S.A.|Consulting|Holdings|& Co|Studio|Technologies".split(
  "|",
);

export const COMPANY_TYPES =
  "Privately Held|Privately Held|Privately Held|Privately Held|Privately Held|Public Company|Partnership|Nonprofit|Self-Owned|Educational|Government Agency".split(
    "|",
  );

export const SPECIALTIES =
  "analytics|automation|cloud migration|data platforms|customer success|supply chain|e-commerce|payments|recruiting|training|compliance|design systems|sustainability|field service|market research|branding|security|mobile apps|machine learning|consulting|logistics|healthcare|education|construction|procurement|renewables".split(
    "|",
  );

export const INTERESTS =
  "B2B growth|cloud platforms|people analytics|customer outcomes|lean operations|open source|accessibility|data privacy|renewable energy|public health|lifelong learning|community building|remote teams|design systems|supply chains|pricing strategy|fintech|edtech|climate tech|machine learning|storytelling|coaching|mentoring|negotiation|event marketing|developer tools|product discovery|risk management|patient care|urban planning|e-commerce|robotics|cybersecurity|localization|naïve optimism|café culture|Qualität|innovación|データ分析|развитие".split(
    "|",
  );

export const SLOGANS =
  "Helping teams do their best work|Speaker and author|Open to opportunities|Turning ideas into products|Building things that last|10+ years of experience|Always learning|Passionate about people|Problem solver|Connecting the dots|We're hiring!|Ex-founder|Board member|Certified professional|Lifelong student 🎓|Coffee first ☕|Dad of two|Views my own|MBA|PhD".split(
    "|",
  );
