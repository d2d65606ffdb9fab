/** Stands in for `node:url` in the browser, where names in Punycode stay as they are: only what is shown is made here. */
export const domainToUnicode = (domain: string): string => domain;
