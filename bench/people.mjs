// Made-up people for the page server: the fields of a person record in published order, as long and as varied as real ones.
// "#ID#......" stands where the server puts the ten digits of the id.

const FIRST = [
  "Ada",
  "Zoë",
  "José",
  "Wei",
  "Amina",
  "Łukasz",
  "Priya",
  "Jonas",
  "Chloé",
  "Mateus",
  "Noor",
  "Sven",
];
const LAST = [
  "Okafor",
  "García",
  "Nguyễn",
  "Schmidt",
  "O'Brien",
  "Kowalski",
  "Silva",
  "Tanaka",
  "Müller",
  "Haddad",
];
const TITLES = [
  "Account Executive",
  "Head of Sales, EMEA",
  "Sales Director",
  "Senior Engineer",
  'VP "Growth"',
  "Analyst",
];
const CITIES = [
  ["germany", "berlin", "berlin"],
  ["united states", "california", "san francisco"],
  ["brazil", "são paulo", "são paulo"],
  ["united kingdom", "england", "london"],
  ["india", "karnataka", "bengaluru"],
];
const INDUSTRIES = [
  "software",
  "banking",
  "hospital & health care",
  "retail",
  "logistics and supply chain",
];
const LEVELS = ["entry", "senior", "manager", "director", "head", "vp"];

const pick = (list, index, step) => list[Math.floor(index / step) % list.length];

/** @param index which of the people, from 0; the same index gives the same person */
export function personRecord(index) {
  const first = pick(FIRST, index, 1);
  const last = pick(LAST, index, 12);
  const title = pick(TITLES, index, 7);
  const [country, state, city] = pick(CITIES, index, 3);
  const industry = pick(INDUSTRIES, index, 11);
  const level = pick(LEVELS, index, 5);
  const company = `Northwind ${industry.split(" ")[0]} ${index % 2_857}`;
  const slug = company.toLowerCase().replaceAll(" ", "-");
  return {
    id: "#ID#......",
    network_url: `https://www.network.example/in/${first.toLowerCase()}-${index}-#ID#......`,
    name: `${first} ${last}`,
    first_name: first,
    last_name: last,
    headline: `${title} at ${company} | ${industry}, people and numbers since ${1990 + (index % 33)}`,
    title,
    seniority: level.toUpperCase(),
    seniority_level: level,
    functional_area: "business development",
    department: "Sales",
    industry,
    country,
    state,
    city,
    location: `${city}, ${state}, ${country}`,
    connections: index % 9 === 0 ? null : (index * 37) % 500,
    followers: index % 7 === 0 ? null : (index * 91) % 12_000,
    company_name: company,
    company_domain: `${slug}.example`,
    company_network_url: `https://www.network.example/company/${slug}`,
    updated_at: `2026-0${1 + (index % 9)}-1${index % 10}T08:30:00Z`,
  };
}
