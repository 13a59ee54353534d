// How far the estimates of tokens are off from OpenAI's o200k_base, as npm's gpt-tokenizer counts it:
//   npm install --prefix FOLDER gpt-tokenizer@3.4.0
//   cargo run --quiet -p switchboard-search --example token_estimates > estimates.jsonl
//   node crates/search/recall/tokens.mjs FOLDER < estimates.jsonl

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.resolve(process.argv[2], "node_modules") + "/");
const { countTokens } = require("gpt-tokenizer/encoding/o200k_base");

const tools = fs.readFileSync(0, "utf8").trim().split("\n").map((line) => JSON.parse(line));
let [estimated, counted] = [0, 0];
const errors = tools.map(({ definition, estimate }) => {
  const tokens = countTokens(definition);
  estimated += estimate;
  counted += tokens;
  return Math.abs(estimate - tokens) / tokens;
});
errors.sort((one, other) => one - other);
const percent = (part) => `${(part * 100).toFixed(1)} %`;
const at = (share) => percent(errors[Math.ceil(share * errors.length) - 1]);
const servers = new Set(tools.map(({ server }) => server)).size;
console.log(`${tools.length} definitions of ${servers} servers: ${counted} tokens, estimated ${estimated}`);
console.log(`off by: half less than ${at(0.5)}, 95 % less than ${at(0.95)}, the worst ${at(1)}, the sum ${percent(Math.abs(estimated - counted) / counted)}`);
