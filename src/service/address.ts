/** Where a server that listens is found. */
export const addressOf = (host: string, port: number, scheme: "http" | "https" = "http"): string =>
  `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
