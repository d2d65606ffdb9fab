import { flag, list, more, number, object, raw, type Schema, said, text } from "./build.ts";

// What the published document says of one number, word or time, with an example.

export const ref = (name: string) => raw({ $ref: `#/components/schemas/${name}` });
export const described = <Properties extends Schema>(
  title: string,
  description: string,
  schema: Properties,
): Properties => ({ title, description, ...schema }) as Properties;

export const word = (description: string, example: string) => said(text, description, example);
export const stamp = more(text, { format: "date-time" });

export const request = (
  title: string,
  description: string,
  schema: Schema,
  example: object,
): Schema => more(described(title, description, schema), { examples: [example] });

export const envelope = (title: string, result: Schema, used: Schema) =>
  described(
    title,
    "The envelope around every answer.",
    object({
      status: said(flag, "Always true: the call worked.", true),
      detail: said(list(text), "Empty, or notices: of a value that nobody has, for example.", []),
      result,
      credits_used: used,
      credits_remaining: said(more(number, { minimum: 0 }), "Balance after the call.", 3_766),
    }),
  );
