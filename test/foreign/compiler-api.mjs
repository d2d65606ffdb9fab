import { createRequire, register } from "node:module";

// The generators of clients use the compiler's API, which typescript 7 has no more: wherever they ask for "typescript" they get the
// 5.9 that package.json puts below one of them (`overrides`). For `node --import` only.
const own = createRequire(import.meta.url);
const compiler = createRequire(own.resolve("tanu/package.json")).resolve("typescript");
const Module = own("node:module");
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function resolve(request, ...rest) {
  return request === "typescript" ? compiler : resolveFilename.call(this, request, ...rest);
};
const hook = `export const resolve = (specifier, context, next) =>
  next(specifier === "typescript" ? ${JSON.stringify(`file://${compiler}`)} : specifier, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
