/** Stands in for `node:url` in the browser, where names in Punycode stay as they are. */
export const domainToUnicode = (domain: string): string => domain;
