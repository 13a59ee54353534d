// Checks the bodies of requests against the schemas of an OpenAPI 3.0 description, with Ajv, which knows nothing of Switchboard:
// node bodies.mjs NODE_MODULES DESCRIPTION.json < requests.json
//
// Reads an array of {method, path, content_type, body} and prints {checked, wrong, other, dropped, unnoticed}: how many requests are
// of operations with JSON bodies; which of them do not match; how many have no JSON body; of how many a required member was dropped
// to see that this is noticed; and of which it was not.

import fs from "node:fs";
import { createRequire } from "node:module";

const [modules, description] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { default: Ajv } = require("ajv");
const { default: addFormats } = require("ajv-formats");

const api = JSON.parse(fs.readFileSync(description, "utf8"));
const ajv = new Ajv({ strict: false, validateSchema: false, allErrors: false });
addFormats(ajv);
// `$ref`s go from the schema of a body to the description. Ajv knows OpenAPI's `nullable` beside `type` only.
const prepared = (schema) =>
  JSON.parse(JSON.stringify(schema), (key, value) => {
    if (key === "$ref" && typeof value === "string" && value.startsWith("#/")) return `api${value}`;
    if (typeof value?.nullable !== "boolean" || value.type) return value;
    const { nullable, ...rest } = value;
    return nullable ? { anyOf: [rest, { type: "null" }] } : rest;
  });
ajv.addSchema({ components: prepared(api.components) }, "api");

// Finds the operation: of the templates that fit, the one with the longest run of literal parts.
const templates = Object.entries(api.paths).map(([template, item]) => [template.split("/"), item]);
function operation(method, path) {
  const parts = path.split("?")[0].split("/");
  const isVariable = (part) => part.includes("{");
  const fits = ([template]) =>
    template.length === parts.length &&
    template.every((part, at) => part === parts[at] || (isVariable(part) && parts[at] !== ""));
  const literals = ([template]) => template.map((part) => (isVariable(part) ? "0" : "1")).join("");
  const found = templates.filter((entry) => fits(entry) && entry[1][method.toLowerCase()]);
  found.sort((one, other) => literals(other).localeCompare(literals(one)));
  return found[0]?.[1][method.toLowerCase()];
}

const report = { checked: 0, wrong: [], other: 0, dropped: 0, unnoticed: [] };
for (const request of JSON.parse(fs.readFileSync(0, "utf8"))) {
  const { method, path, content_type: type, body } = request;
  const shown = `${method} ${path} ${JSON.stringify(body)}`;
  const found = operation(method, path);
  if (!found) {
    report.wrong.push(`${shown}: no such operation`);
    continue;
  }
  const schema = found.requestBody?.content["application/json"]?.schema;
  if (!schema) {
    report.other += 1;
    continue;
  }
  report.checked += 1;
  if (body === null && !type) {
    if (found.requestBody.required) report.wrong.push(`${shown}: no body`);
    continue;
  }
  const validate = ajv.compile(prepared(schema));
  if (type !== "application/json" || !validate(body)) {
    report.wrong.push(`${shown}: ${type} ${ajv.errorsText(validate.errors)}`);
    continue;
  }
  const [required] = schema.required ?? [];
  if (required) {
    const { [required]: _, ...rest } = body;
    report.dropped += 1;
    if (validate(rest)) report.unnoticed.push(`${shown}: without ${required}`);
  }
}
console.log(JSON.stringify(report));
