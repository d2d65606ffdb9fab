import { failed, usageError } from "../../shared/errors.ts";
import { optional } from "../../shared/packages.ts";
import type { View } from "../../shared/rows/page.ts";
import {
  cellOf,
  fieldValue,
  isNested,
  type JsonRecord,
  type JsonValue,
  stringifyExact,
} from "../../shared/rows/values.ts";

/** What it writes of a row, and the fields that it names outside of sections. */
export interface RowTemplate {
  readonly fields: readonly string[];
  render(row: JsonRecord): string;
}

type Token = readonly [type: string, name: string, start: number, end: number, inner?: readonly Token[]];

/** Without a prototype, so that a template sees what the record has and nothing that JavaScript adds. */
function bare(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (!isNested(value)) return value;
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, inner] of Object.entries(value)) copy[key] = bare(inner);
  return copy;
}

const plain = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  return typeof value === "object" && !Array.isArray(value)
    ? stringifyExact(value as JsonRecord)
    : String(cellOf(value as JsonValue) ?? "");
};

/** Logic-less. @throws CliError (exit 2) where it is none or includes others */
export async function loadTemplate(text: string): Promise<RowTemplate> {
  const { default: mustache } = await optional(
    "mustache",
    "--format template",
    import("mustache"),
    "choose --format csv",
  );
  let tokens: readonly Token[];
  try {
    tokens = mustache.parse(text) as unknown as readonly Token[];
  } catch (error) {
    throw usageError(
      `--template cannot be read: ${(error as Error).message}`,
      "for example --template '{{name}} <{{network_url}}>'",
    );
  }
  const fields = namesIn(tokens);
  class Plain extends mustache.Writer {
    override escapedValue(token: string[], context: InstanceType<typeof mustache.Context>): string {
      return plain(context.lookup(token[1] ?? ""));
    }
    override unescapedValue(token: string[], context: InstanceType<typeof mustache.Context>): string {
      return this.escapedValue(token, context);
    }
  }
  const writer = new Plain();
  return {
    fields,
    render(row) {
      const view = bare(row) as Record<string, unknown>;
      for (const field of fields) if (!field.includes(".")) view[field] = bare(fieldValue(row, field) ?? null);
      try {
        return writer.render(text, view);
      } catch (cause) {
        throw failed.incomplete(
          `the template cannot be filled: ${(cause as Error).message}`,
          "the rows are kept: headcount runs export last writes them in another format",
          "template_failed",
          cause,
        );
      }
    },
  };
}

/** A list in a list of one record multiplies, and a row is written in one go. */
const DEEPEST = 4;

/** Names outside of sections. @throws CliError exit 2 for a partial or a name of JavaScript's own */
function namesIn(tokens: readonly Token[], depth = 0): string[] {
  if (depth > DEEPEST)
    throw usageError(`--template has sections more than ${DEEPEST} deep, and lists in lists multiply`, "nest fewer");
  const names: string[] = [];
  for (const [type, name, , , inner] of tokens) {
    if (type === ">")
      throw usageError(`--template includes {{> ${name}}}, and there is nothing to include`, "write it out");
    if (!["name", "&", "#", "^"].includes(type)) continue;
    const foreign = name.split(".").find((part) => part in Array.prototype && part !== "length");
    if (foreign !== undefined) throw usageError(`--template names ${name}, which no record has`);
    if (depth === 0 && name !== ".") names.push(name);
    if (inner !== undefined) namesIn(inner, depth + 1);
  }
  return [...new Set(names)];
}

export const templateView = (template: RowTemplate): View => ({
  unseen: new Set(),
  page: (page) =>
    page
      .rows()
      .map((row) => template.render(row).toWellFormed())
      .map((text) => (text.endsWith("\n") ? text : `${text}\n`))
      .join(""),
  end: () => "",
});
