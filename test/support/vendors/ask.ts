/** What a vendor answered, as it came over the wire. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; its text where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test names what it expects to stand there.
  readonly body: any;
}

/** One call by hand, without anything of our client. A body that is no text is sent as JSON. */
export async function ask(
  url: string,
  call: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Answered> {
  const [method = "GET", path = ""] = call.split(" ");
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text,
  };
}
