"use strict";

/**
 * Node's own SQLite in the form of the package of natives, undefined where this Node has none that
 * is new enough (from 22.16). It has not all options of `prepare`, and warns that it is new.
 * @param check throws for a path that may not be opened, from the constructor
 */
exports.nodeSqlite = (check) => {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    const { DatabaseSync, StatementSync } = require("node:sqlite");
    // As old as `isTransaction` of a database.
    if (!("setReturnArrays" in StatementSync.prototype)) return undefined;
    return class extends DatabaseSync {
      constructor(path, options = {}) {
        check(path);
        super(path, options);
      }

      prepare(sql, { readBigInts = false, returnArrays = false } = {}) {
        const statement = super.prepare(sql);
        statement.setReadBigInts(readBigInts);
        statement.setReturnArrays(returnArrays);
        return statement;
      }
    };
  } catch {
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
};
