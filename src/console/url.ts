/**
 * In place of `node:url` in the browser, whose `URL` has one half
 * of it: a host stays as it is sent, since nothing here shows one.
 */
export const domainToUnicode = (host: string): string => host;

/** "" for what is no host, as Node has it. */
export function domainToASCII(host: string): string {
  try {
    return new URL(`http://${host}`).hostname;
  } catch {
    return "";
  }
}
