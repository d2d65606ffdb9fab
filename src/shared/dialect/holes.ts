// Tested by test/unit/shared/dialect/holes.test.ts.
import { isObject } from "../contract/text.ts";
import { isNested, type JsonValue } from "../rows/values.ts";

/** What a template is filled with. One that is not there, or undefined, has no value. */
export type Filling = Readonly<Record<string, unknown>>;

const HOLE = /^@([a-z_]+)(\?null)?$/;
const INSIDE = /\{([a-z_]+)(?::[a-z_]+)?\}/g;
/** The name of a member whose value is spread into the object that holds it. */
const SPREAD = "*";

/** A copy in which each hole has its value; a hole without one takes its member away. */
export function filled(template: unknown, values: Filling): unknown {
  if (typeof template === "string") {
    const [, name, orNull] = HOLE.exec(template) ?? [];
    if (name === undefined) return inside(template, values);
    return values[name] ?? (orNull === undefined ? undefined : null);
  }
  if (Array.isArray(template))
    return template.flatMap((item) => {
      const value = filled(item, values);
      return value === undefined ? [] : [value];
    });
  if (!isObject(template)) return template;

  const out: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(template)) {
    const value = filled(inner, values);
    if (name === SPREAD) mergeInto(out, value);
    else if (value !== undefined) out[name] = value;
  }
  return out;
}

/** Objects that are spread side by side: lists of the same member are put together. */
function mergeInto(out: Record<string, unknown>, spread: unknown): void {
  for (const part of [spread].flat().filter(isObject))
    for (const [name, value] of Object.entries(part)) {
      const before = out[name];
      if (Array.isArray(before) && Array.isArray(value)) out[name] = [...before, ...value];
      else if (isObject(before) && isObject(value)) {
        const both = { ...before };
        mergeInto(both, value);
        out[name] = both;
      } else out[name] = value;
    }
}

const inside = (text: string, values: Filling): string =>
  text.replace(INSIDE, (whole, name: string) =>
    values[name] === undefined ? whole : String(values[name]),
  );

interface Hole {
  readonly name: string;
  /** Where it stands in its template. */
  readonly path: readonly string[];
}

/** All holes of a template, those inside texts among them. */
export function holesIn(template: unknown, path: readonly string[] = []): Hole[] {
  if (typeof template === "string") {
    const whole = HOLE.exec(template);
    const found = whole === null ? [...template.matchAll(INSIDE)] : [whole];
    return found.map(([, name = ""]) => ({ name, path }));
  }
  return typeof template === "object" && template !== null
    ? Object.entries(template).flatMap(([name, inner]) => holesIn(inner, [...path, name]))
    : [];
}

export const holesOf = (template: unknown): string[] => holesIn(template).map(({ name }) => name);

/** A reply as it is looked into: its body read, and its headers by lower-case names. */
export interface VendorBody {
  readonly body: JsonValue | undefined;
  readonly header: (name: string) => string | undefined;
}

const HEADER = "header:";
const STEP = /^([^[\]]*)((?:\[(?:\d+|[^[\]=]+=[^[\]]*)\])*)$/;

/** A member, or of a list the item at an index, or the first whose member is written so. */
export type Step = string | number | { readonly name: string; readonly wanted: string };
type Path = { readonly header: string } | { readonly steps: readonly Step[] };

/** The places of the files in use, taken apart once: each is looked for in every row. */
const PLACES = new Map<string, readonly Path[]>();

export function pathsOf(place: string): readonly Path[] {
  const known = PLACES.get(place);
  if (known !== undefined) return known;

  const paths = place
    .split("|")
    .map((path) =>
      path.startsWith(HEADER)
        ? { header: path.slice(HEADER.length).toLowerCase() }
        : { steps: path === "" ? [] : path.split(".").flatMap(stepsOf) },
    );
  PLACES.set(place, paths);
  return paths;
}

function stepsOf(step: string): Step[] {
  const [, name = "", picks = ""] = STEP.exec(step) ?? [];
  const picked = [...picks.matchAll(/\[([^[\]]*)\]/g)].map(([, pick = ""]): Step => {
    const [key = "", wanted] = pick.split("=");
    return wanted === undefined ? Number(pick) : { name: key, wanted };
  });
  return name === "" ? picked : [name, ...picked];
}

/**
 * What stands at a place: `a.b[0].c`, `list[current=true].x`, `a|b` (the first
 * that has a value), `header:name`, and "" for the reply itself; undefined: nothing is looked for.
 */
export function placed(
  place: string | undefined,
  { body, header }: VendorBody,
): JsonValue | undefined {
  for (const path of place === undefined ? [] : pathsOf(place)) {
    const value = "header" in path ? header(path.header) : reached(body, path.steps);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

/** Whether what stands there is said to be nothing. */
export const isNothing = (place: string, { body }: VendorBody): boolean =>
  pathsOf(place).some((path) => "steps" in path && reached(body, path.steps) === null);

/** Of a row, which has no headers. */
export const inRow = (place: string, row: JsonValue): JsonValue | undefined =>
  placed(place, { body: row, header: noHeader });

const noHeader = (): undefined => undefined;

export function reached(
  from: JsonValue | undefined,
  steps: readonly Step[],
): JsonValue | undefined {
  let value = from;
  for (const step of steps) value = stepped(value, step);
  return value;
}

function stepped(value: JsonValue | undefined, step: Step): JsonValue | undefined {
  if (typeof step === "string")
    return isNested(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  if (!Array.isArray(value)) return undefined;
  const items = value as readonly JsonValue[];
  if (typeof step === "number") return items[step];
  return items.find((item) => String(stepped(item, step.name)) === step.wanted);
}
