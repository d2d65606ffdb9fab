export const addressOf = (host: string, port: number, scheme: "http" | "https" = "http"): string =>
  `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;

/** An address of IPv4, or the network of 64 bits that a site has of IPv6. */
export function networkOf({ remoteAddress: address = "" }: { readonly remoteAddress?: string | undefined }): string {
  if (!address.includes(":") || address.includes(".")) return address.replace(/^::ffff:/i, "");
  const groups = address.split("::", 1)[0]?.split(":").slice(0, 4).join(":") ?? "";
  return groups.replace(/(?::0)+$/, "");
}
