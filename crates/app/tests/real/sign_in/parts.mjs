// Where the packages of part `oidc` are, for the scripts beside this one.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const parts = process.env.SWITCHBOARD_PARTS;
assert(parts, 'SWITCHBOARD_PARTS is not set: run `cargo xtask test`');

/** Imports a package of a part. */
export async function from(part, name) {
  return import(pathToFileURL(createRequire(join(parts, part, 'package.json')).resolve(name)));
}
