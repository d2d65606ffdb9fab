// The eight reference queries, with values taken from the dataset itself: every variant asks for other values, so that no cache
// of results answers in the place of an engine.

/** What each query looks like, and which of its values come from where. `rows` are rows of the people as a table. */
const QUERIES = [
  {
    name: "department",
    leading: true,
    sql: "SELECT department FROM filters.people GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT $n",
    conditions: ([department]) => [["=", "department", [department]]],
  },
  {
    name: "country + department + seniority",
    leading: true,
    sql: `SELECT country, department, seniority FROM filters.people WHERE country IS NOT NULL AND seniority IS NOT NULL
          GROUP BY ALL ORDER BY count(*) DESC, 1, 2, 3 LIMIT $n`,
    conditions: ([country, department, seniority]) => [
      ["=", "country", [country]],
      ["=", "department", [department]],
      ["=", "seniority", [seniority]],
    ],
  },
  {
    name: "industry + functional area + seniority",
    sql: `SELECT industry, functional_area, seniority FROM filters.people
          WHERE industry IS NOT NULL AND functional_area IS NOT NULL AND seniority IS NOT NULL
          GROUP BY ALL ORDER BY count(*) DESC, 1, 2, 3 LIMIT $n`,
    conditions: ([industry, area, seniority]) => [
      ["=", "industry", [industry]],
      ["=", "functional_area", [area]],
      ["=", "seniority", [seniority]],
    ],
  },
  {
    name: "country in five",
    leading: true,
    sql: `SELECT a, lead(a, 1) OVER o, lead(a, 2) OVER o, lead(a, 3) OVER o, lead(a, 4) OVER o
          FROM (SELECT country AS a, row_number() OVER (ORDER BY count(*) DESC, country) AS r FROM filters.people
                WHERE country IS NOT NULL GROUP BY 1)
          WINDOW o AS (ORDER BY r) ORDER BY r LIMIT $n`,
    conditions: (countries) => [["=", "country", countries]],
  },
  {
    name: "title prefix",
    sql: `SELECT left(title, 7) FROM filters.people WHERE length(title) >= 7 AND left(title, 7) = trim(left(title, 7))
          GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT $n`,
    conditions: ([prefix]) => [["prefix", "title", [prefix]]],
  },
  {
    name: "headline prefix",
    lookup: true,
    sql: `SELECT DISTINCT trim(left(headline, 16)) FROM filters.people
          WHERE headline IS NOT NULL AND rid % (SELECT greatest(1, count(*) // 100) FROM filters.people) = 7 ORDER BY 1 LIMIT $n`,
    conditions: ([prefix]) => [["prefix", "headline", [prefix]]],
  },
  {
    name: "connections range + department",
    sql: `SELECT department, 100 + 20 * row_number() OVER (ORDER BY count(*) DESC, 1) FROM filters.people
          GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT $n`,
    conditions: ([department, low]) => [
      ["=", "department", [department]],
      ["range", "connections", [Number(low), Number(low) + 400]],
    ],
  },
  {
    name: "full name",
    lookup: true,
    sql: `SELECT DISTINCT name FROM filters.people
          WHERE name IS NOT NULL AND rid % (SELECT greatest(1, count(*) // 100) FROM filters.people) = 11 ORDER BY 1 LIMIT $n`,
    conditions: ([name]) => [["=", "name", [name]]],
  },
];

/**
 * The queries with `variants` sets of values each.
 * @param rowsOf runs SQL against the people (attached as `filters`) and gives rows
 */
export async function referenceQueries(rowsOf, variants) {
  const queries = [];
  for (const { sql, conditions, ...query } of QUERIES) {
    const rows = await rowsOf(sql.replace("$n", String(variants)));
    if (rows.length < variants)
      throw new Error(`${query.name}: ${rows.length} sets of values, not ${variants}`);
    const made = rows.map((row) => {
      const list = conditions(row);
      return { filters: filtersOf(list), where: whereOf(list) };
    });
    queries.push({ ...query, variants: made });
  }
  return queries;
}

/** The conditions as the contract's filters. */
function filtersOf(conditions) {
  const filters = {};
  for (const [kind, column, values] of conditions) {
    if (kind === "=") filters[column] = values.length === 1 ? values[0] : values;
    else if (kind === "prefix") filters[`${column}_prefix`] = values[0];
    else [filters[`${column}_min`], filters[`${column}_max`]] = values;
  }
  return filters;
}

const literal = (value) =>
  typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;

/** The conditions as SQL that PostgreSQL, SQLite and DuckDB all understand, a prefix as the range that an index can use. */
function whereOf(conditions) {
  return conditions
    .map(([kind, column, values]) => {
      const [first, second] = values.map(literal);
      if (kind === "range") return `${column} BETWEEN ${first} AND ${second}`;
      if (kind === "prefix")
        return `${column} >= ${first} AND ${column} < ${literal(after(values[0]))}`;
      return values.length === 1
        ? `${column} = ${first}`
        : `${column} IN (${values.map(literal).join(", ")})`;
    })
    .join(" AND ");
}

function after(prefix) {
  const points = [...prefix];
  const last = points.pop();
  return points.join("") + String.fromCodePoint(last.codePointAt(0) + 1);
}
