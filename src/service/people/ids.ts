// Tested by test/service/owned.test.ts.
/** Records begin with the id. */
export function idOf(record: Buffer): string {
  const [, plain] = /^\{"id":"([^"\\]+)"/.exec(record.toString("latin1", 0, 64)) ?? [];
  return plain !== undefined && /^[\x20-\x7e]+$/.test(plain)
    ? plain
    : (JSON.parse(record.toString()) as { readonly id: string }).id;
}
