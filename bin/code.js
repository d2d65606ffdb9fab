const fs = require("node:fs");
const { env, versions } = process;

/**
 * The program's files are compiled once for each Node and each build, and the code kept in the user's cache folder: a fifth of a whole
 * `count` (docs/explanation/performance.md). It is code that will run, so the folder has to be this user's alone. Where it cannot be read or
 * written, everything runs as without it, and nobody is told.
 */
exports.keepCode = function keepCode(program) {
  if (env.NODE_DISABLE_COMPILE_CACHE || typeof process.getuid !== "function") return;
  const folder = cacheFolder(program);
  if (folder === undefined) return;
  const Module = require("node:module");
  const vm = require("node:vm");
  const compile = Module.prototype._compile;
  const within = program.slice(0, program.lastIndexOf("/"));
  const fresh = new Map();
  Module.prototype._compile = function (content, filename, ...more) {
    // A small file is compiled sooner than its code is read.
    if (content.length < 4096 || !filename.startsWith(within))
      return compile.call(this, content, filename, ...more);
    const stored = `${folder}/${filename.slice(within.length + 1)}`;
    const cachedData = readOwn(stored);
    const script = new vm.Script(Module.wrap(content), { filename, cachedData });
    if (cachedData === undefined || script.cachedDataRejected) fresh.set(stored, script);
    const load = (id) => this.require(id);
    load.resolve = (id, options) => Module._resolveFilename(id, this, false, options);
    load.main = process.mainModule;
    load.cache = Module._cache;
    const { exports } = this;
    return script.runInThisContext().call(exports, exports, load, this, filename, within);
  };
  // At the end, when what the command needed has been compiled.
  process.once("exit", () => {
    for (const [path, script] of fresh) write(path, script.createCachedData());
  });
};

/** @returns the folder of this build under this Node, made where it is missing; undefined where it is not this user's alone */
function cacheFolder(program) {
  const base = env.XDG_CACHE_HOME || (env.HOME ? `${env.HOME}/.cache` : "");
  if (!base.startsWith("/")) return undefined;
  try {
    // V8 compares lengths of sources, not sources: a build is known by its entry, which names all other files by their content.
    const { mtimeMs, size, ino } = fs.statSync(program);
    const folder = `${base}/headcount/code-${versions.node}-${process.arch}-${ino}-${size}-${Math.trunc(mtimeMs)}`;
    // Under sudo with a kept HOME it is somebody else's, and stays theirs alone: nothing is made there either.
    const isThere = fs.existsSync(base);
    const parent = base.replace(/\/+[^/]*\/*$/, "") || "/";
    if (fs.statSync(isThere ? base : parent).uid !== process.getuid()) return undefined;
    // One by one: Node never comes back from a recursive one where the system says that a parent is not there.
    if (!isThere) fs.mkdirSync(base, 0o700);
    if (!fs.existsSync(`${base}/headcount`)) fs.mkdirSync(`${base}/headcount`, 0o700);
    if (!isOwn(`${base}/headcount`)) return undefined;
    if (!fs.existsSync(folder)) {
      fs.mkdirSync(folder, 0o700);
      removeOld(`${base}/headcount`);
    }
    return isOwn(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** A folder itself, not a link to one, of this user, in which nobody else writes. */
function isOwn(path) {
  const { uid, mode } = fs.lstatSync(path);
  return uid === process.getuid() && (mode & 0o170000) === 0o040000 && (mode & 0o022) === 0;
}

const OURS = /^code-[\w.-]+-\d+-\d+-\d+$/;
const OURS_WITHIN = /\.cjs(?:\.\d+)?$/;

/** Code of builds that nobody has made anew for a month: what has another name than ours is left, with its folder. */
function removeOld(folder) {
  for (const name of fs.readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (!OURS.test(name) || !isOwn(path)) continue;
    if (Date.now() - fs.lstatSync(path).mtimeMs < 30 * 86_400_000) continue;
    const files = fs.readdirSync(path);
    // Another start may be removing it too.
    for (const file of files)
      if (OURS_WITHIN.test(file)) fs.rmSync(`${path}/${file}`, { force: true });
    if (files.every((file) => OURS_WITHIN.test(file)))
      fs.rmSync(path, { recursive: true, force: true });
  }
}

function readOwn(path) {
  try {
    return fs.readFileSync(path);
  } catch {
    return undefined;
  }
}

/** Whole or not at all, also after a power loss and where two write at once. */
function write(path, data) {
  const draft = `${path}.${process.pid}`;
  try {
    const file = fs.openSync(draft, "wx", 0o600);
    try {
      fs.writeSync(file, data);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
    fs.renameSync(draft, path);
  } catch {
    fs.rmSync(draft, { force: true });
  }
}
