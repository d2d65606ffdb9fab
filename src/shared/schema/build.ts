import * as Type from "typebox";

/** A JSON Schema, 2020-12, as it stands in files, tools and documents. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type Schema = Type.TSchema;

export const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** What a schema describes, as a type: nothing of it is changed once it is made. */
export type Of<Schema extends Type.TSchema> = Frozen<Type.Static<Schema>>;
type Frozen<T> = T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T;

/** A schema of our own words, and the type that it describes. */
export const raw = <T = unknown>(schema: JsonSchema): Type.TUnsafe<T> => Type.Unsafe<T>(schema);

export const anything = Type.Unknown();
export const nothing = Type.Null();
export const text = Type.String();
export const flag = Type.Boolean();
export const wholeNumberShape = Type.Integer({ minimum: 0 });
export const integer = Type.Integer();
export const number = Type.Number();
export const creditsShape = Type.Number({ description: "credits, at most six decimals" });
export const time = Type.String({ format: "date-time", description: "ISO-8601, UTC" });
export const digest = Type.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256" });

export const one = <Values extends string[]>(...values: readonly [...Values]): Type.TEnum<Values> =>
  Type.Enum(values);
export const always = <Value extends boolean | number>(value: Value): Type.TLiteral<Value> =>
  Type.Literal(value);
export const list = <Item extends Type.TSchema>(
  items: Item,
  bounds: JsonSchema = {},
): Type.TArray<Item> => Type.Array(items, bounds);
export const map = <Value extends Type.TSchema>(values: Value) =>
  raw<Record<string, Type.Static<Value>>>({ type: "object", additionalProperties: values });
export const members = map(anything);
export const some = <Schemas extends Type.TSchema[]>(
  ...schemas: readonly [...Schemas]
): Type.TUnion<Schemas> => Type.Union([...schemas]);

/** The same schema with more said of it; what is optional is made so last. */
export const more = <Schema extends Type.TSchema>(schema: Schema, words: JsonSchema): Schema => ({
  ...schema,
  ...words,
});
export const said = <Schema extends Type.TSchema>(
  schema: Schema,
  description: string,
  ...examples: unknown[]
): Schema => more(schema, examples.length === 0 ? { description } : { description, examples });
export const titled = <Schema extends Type.TSchema>(title: string, schema: Schema): Schema =>
  ({ title, ...schema }) as Schema;

/** Also null: what is not known, or is not there. */
export const maybe = <Schema extends Type.TSchema>(schema: Schema) => {
  const said = { ...schema } as JsonSchema;
  const isPlain = typeof said.type === "string" && said.enum === undefined;
  return raw<Type.Static<Schema> | null>(
    isPlain ? { ...said, type: [said.type, "null"] } : { anyOf: [schema, { type: "null" }] },
  );
};

export const maybeText = maybe(text);
export const maybeCredits = maybe(creditsShape);
export const texts = list(text);
export const maybeTexts = maybe(texts);
export const maybeTime = maybe(time);
export const maybeNumber = maybe(number);
export const maybeFlag = maybe(flag);
export const maybeWhole = maybe(wholeNumberShape);

export const optionalProperty = <Schema extends Type.TSchema>(schema: Schema) =>
  Type.Optional(schema);
export const optionalText = optionalProperty(text);
export const optionalWhole = optionalProperty(wholeNumberShape);

/**
 * An object of ours: every key is always there, but for
 * those that are `optional`, and there is no other.
 */
export const object = <Properties extends Type.TProperties>(
  properties: Properties,
): Type.TObject<Properties> => Type.Object(properties, { additionalProperties: false });

/** Properties that are alike. */
export const each = <Property extends Type.TSchema, Name extends string>(
  property: Property,
  ...names: Name[]
) => Object.fromEntries(names.map((name) => [name, property])) as { [Key in Name]: Property };

export const aSchema = raw<JsonSchema>({
  type: "object",
  properties: { $schema: text },
  required: ["$schema"],
});
