/** Where a server that listens is found. */
export const addressOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
