import { present, whenGiven } from "../contract/text.ts";
import type { Schema } from "../schema/build.ts";

export interface Ref {
  readonly $ref: string;
}

type Bound = "minimum" | "maximum" | "minLength" | "maxLength" | "minItems" | "maxItems";

/**
 * The parts of OpenAPI 3.0.3's schemas that the
 * document uses, for the reference page and the tests.
 */
export interface OpenApiSchema extends Readonly<Partial<Record<Bound, number>>> {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly string[];
  readonly example?: unknown;
  readonly items?: OpenApiSchema | Ref;
  readonly properties?: Readonly<Record<string, OpenApiSchema | Ref>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly anyOf?: readonly (OpenApiSchema | Ref)[];
}

/** A schema of ours (2020-12) as OpenAPI 3.0.3 says it. */
export function openApi(schema: Schema): OpenApiSchema {
  const { anyOf, enum: values, examples, items, properties, type, ...rest } = schema as Source;
  const [either, none] = (anyOf ?? []) as readonly Source[];
  if (none?.type === "null")
    return { ...openApi({ ...either, ...rest, examples }), nullable: true };

  const [first, orNull] = [type ?? (values === undefined ? [] : "string")].flat();
  return {
    ...rest,
    ...present({
      type: first,
      nullable: orNull === "null" || undefined,
      enum: values,
      items: whenGiven(items, openApi),
      properties: whenGiven(properties, openApis),
      anyOf: anyOf?.map(openApi),
      example: examples?.[0],
    }),
  };
}

interface Source extends Omit<OpenApiSchema, "example" | "nullable" | "type"> {
  readonly type?: string | readonly string[];
  readonly examples?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
}

export const openApis = (
  schemas: Readonly<Record<string, Schema>>,
): Readonly<Record<string, OpenApiSchema>> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, openApi(schema)]));

/** What the examples of an object's properties make together, but for those that may be absent. */
export function exampleOf(schema: Schema): unknown {
  const { examples, items, properties = {}, required = [] } = schema as Source;
  if (examples !== undefined) return examples[0];
  if (items !== undefined) return [exampleOf(items)];
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]));
}
