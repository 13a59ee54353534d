// A server with the names that the conformance suite wants, over stdio: node upstream.mjs legacy|modern
//
// Each tool is written once. In the old era it asks its client by requests of its own; in the new one its call ends in
// a question, and is made again with the answers.

import { createHmac } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const modern = process.argv[2] === 'modern';
const META = 'io.modelcontextprotocol/';
const INFO = { name: 'conformance-upstream', version: '1.0.0' };
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

const write = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const notify = (method, params) => write({ method, params });

class Failed extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}
class Asks extends Error {
  constructor(requests) {
    super('asks');
    this.requests = requests;
  }
}

// --- asking the client -------------------------------------------------------------------------------------------

let nextId = 1;
const waiting = new Map();
const seal = text => createHmac('sha256', 'fixture').update(text).digest('hex').slice(0, 16);

/** One call: what it was given so far, and how it asks for more. */
class Call {
  constructor(params) {
    this.meta = params._meta ?? {};
    this.capabilities = modern ? this.meta[`${META}clientCapabilities`] : clientCapabilities;
    this.answers = {};
    if (params.requestState !== undefined) {
      const [mark, text] = String(params.requestState).split('|');
      if (mark !== seal(text ?? '')) throw new Failed(-32602, 'requestState was tampered with');
      this.answers = JSON.parse(text);
    }
    for (const [key, answer] of Object.entries(params.inputResponses ?? {})) {
      if (typeof answer !== 'object' || answer === null) throw new Failed(-32602, `the answer to ${key} is not an object`);
      this.answers[key] = answer;
    }
  }

  /** Asks several questions at once; the answers come under the same keys. */
  async ask(questions) {
    const open = Object.entries(questions).filter(([key]) => !(key in this.answers));
    if (modern && open.length) throw new Asks(Object.fromEntries(open));
    for (const [key, { method, params }] of open) {
      const id = nextId++;
      write({ id, method, params });
      this.answers[key] = await new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    }
    return this.answers;
  }

  log(data) {
    const level = modern ? this.meta[`${META}logLevel`] : 'info';
    if (level) notify('notifications/message', { level: 'info', logger: 'upstream', data });
  }

  progress(progress, total, message) {
    const progressToken = this.meta.progressToken;
    if (progressToken !== undefined) notify('notifications/progress', { progressToken, progress, total, message });
  }
}

const text = text => ({ content: [{ type: 'text', text }] });
const string = { type: 'string' };
const form = (message, properties, required) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties, required } },
});
const sample = (prompt, maxTokens = 100) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens },
});
const roots = { method: 'roots/list', params: {} };
const told = (start, answer) => text(`${start}: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);

// --- tools -------------------------------------------------------------------------------------------------------

const resource = (uri, mimeType, text) => ({ type: 'resource', resource: { uri, mimeType, text } });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const options = (values, titles) => values.map((value, at) => ({ const: value, title: titles[at] }));
const THREE = ['value1', 'value2', 'value3'];

const tools = {
  // Its name comes first in the list: the suite calls the first tool without arguments.
  test_simple_text: () => text('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }),
  test_tool_with_logging: async call => {
    call.log('Tool execution started');
    await sleep(50);
    call.log('Tool processing data');
    await sleep(50);
    call.log('Tool execution completed');
    return text('logged');
  },
  test_logging_tool: call => {
    call.log('a line of log');
    return text('logged');
  },
  test_error_handling: () => ({
    isError: true,
    ...text('This tool intentionally returns an error for testing'),
  }),
  test_tool_with_progress: async call => {
    for (const done of [0, 50, 100]) {
      call.progress(done, 100, `${done} of 100`);
      await sleep(50);
    }
    return text('done');
  },
  test_reconnection: async () => {
    await sleep(100);
    return text('reconnected');
  },
  test_sampling: async (call, { prompt }) => {
    const { sampled } = await call.ask({ sampled: sample(prompt) });
    return text(`LLM response: ${sampled.content?.text ?? JSON.stringify(sampled)}`);
  },
  test_elicitation: async (call, { message }) => {
    const properties = {
      username: { ...string, description: "User's response" },
      email: { ...string, description: "User's email address" },
    };
    const { user } = await call.ask({ user: form(message, properties, ['username', 'email']) });
    return told('User response', user);
  },
  test_elicitation_sep1034_defaults: async call => {
    const properties = {
      name: { ...string, default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { ...string, enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    };
    const { user } = await call.ask({ user: form('All have defaults', properties, []) });
    return told('Elicitation completed', user);
  },
  test_elicitation_sep1330_enums: async call => {
    const plain = ['option1', 'option2', 'option3'];
    const titles = ['First', 'Second', 'Third'];
    const properties = {
      untitledSingle: { ...string, enum: plain },
      titledSingle: { ...string, oneOf: options(THREE, titles.map(title => `${title} Option`)) },
      legacyEnum: { ...string, enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
      untitledMulti: { type: 'array', items: { ...string, enum: plain } },
      titledMulti: { type: 'array', items: { anyOf: options(THREE, titles.map(title => `${title} Choice`)) } },
    };
    const { user } = await call.ask({ user: form('Choose', properties, []) });
    return told('Elicitation completed', user);
  },
  test_streaming_elicitation: async call => {
    const { user } = await call.ask({ user: form('Say something', { said: string }, ['said']) });
    return told('Said', user);
  },
  json_schema_2020_12_tool: (_, args) => text(JSON.stringify(args)),
  test_custom_header: (_, { region }) => text(`region ${region}`),
  test_missing_capability: call => {
    if (call.capabilities?.sampling) return text('sampling is there');
    throw new Failed(-32021, 'this needs sampling', { requiredCapabilities: { sampling: {} } });
  },
  test_trigger_tool_change: () => {
    extra.tool = !extra.tool;
    changed('tools');
    return text('the tools have changed');
  },
  test_trigger_prompt_change: () => {
    extra.prompt = !extra.prompt;
    changed('prompts');
    return text('the prompts have changed');
  },
  test_input_required_result_elicitation: async call => {
    const { user_name } = await call.ask({ user_name: form('What is your name?', { name: string }, ['name']) });
    return text(`Hello, ${user_name.content?.name}!`);
  },
  test_input_required_result_sampling: async call => {
    const { capital_question } = await call.ask({ capital_question: sample('What is the capital of France?') });
    return text(capital_question.content?.text ?? JSON.stringify(capital_question));
  },
  test_input_required_result_list_roots: async call => {
    const { client_roots } = await call.ask({ client_roots: roots });
    return text(`roots: ${JSON.stringify(client_roots.roots)}`);
  },
  test_input_required_result_request_state: async call => {
    await call.ask({ confirm: form('Please confirm', { ok: { type: 'boolean' } }, ['ok']) });
    return text('state-ok');
  },
  test_input_required_result_tampered_state: async call => {
    await call.ask({ confirm: form('Please confirm', { ok: { type: 'boolean' } }, ['ok']) });
    return text('state-ok');
  },
  test_input_required_result_multiple_inputs: async call => {
    const answers = await call.ask({
      user_name: form('What is your name?', { name: string }, ['name']),
      greeting: sample('Generate a greeting', 50),
      client_roots: roots,
    });
    return text(JSON.stringify(answers));
  },
  test_input_required_result_multi_round: async call => {
    const { step1 } = await call.ask({ step1: form('Step 1: What is your name?', { name: string }, ['name']) });
    const question = form('Step 2: What is your favorite color?', { color: string }, ['color']);
    const { step2 } = await call.ask({ step2: question });
    return text(`${step1.content?.name} likes ${step2.content?.color}`);
  },
  test_input_required_result_capabilities: async call => {
    const questions = {};
    if (call.capabilities?.elicitation) questions.user_name = form('Name?', { name: string }, ['name']);
    if (call.capabilities?.sampling) questions.greeting = sample('Generate a greeting', 50);
    return text(JSON.stringify(await call.ask(questions)));
  },
};

const schemas = {
  test_sampling: { type: 'object', properties: { prompt: string }, required: ['prompt'] },
  test_elicitation: { type: 'object', properties: { message: string }, required: ['message'] },
  test_custom_header: {
    type: 'object',
    properties: { region: { ...string, 'x-mcp-header': 'Region' } },
    required: ['region'],
  },
  json_schema_2020_12_tool: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: string, city: string } } },
    properties: {
      name: string,
      address: { $ref: '#/$defs/address' },
      contactMethod: { ...string, enum: ['phone', 'email'] },
      phone: string,
      email: string,
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
};

// --- resources and prompts ---------------------------------------------------------------------------------------

const TEMPLATE = 'test://template/{id}/data';
const said = (role, content) => ({ role, content });
const user = content => said('user', content);
const plain = text => user({ type: 'text', text });

function read(uri) {
  const at = (mimeType, content) => ({ contents: [{ uri, mimeType, ...content }] });
  if (uri === 'test://static-text') return at('text/plain', { text: 'This is the content of the static text resource.' });
  if (uri === 'test://static-binary') return at('image/png', { blob: PNG });
  if (uri === 'test://watched-resource') return at('text/plain', { text: 'watched' });
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id) return at('application/json', { text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) });
  throw new Failed(modern ? -32602 : -32002, `there is no resource ${uri}`, { uri });
}

const argument = name => ({ name, required: true });
const prompts = {
  test_simple_prompt: [[], () => [plain('This is a simple prompt for testing.')]],
  test_prompt_with_arguments: [
    ['arg1', 'arg2'],
    (_, { arg1, arg2 }) => [plain(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  ],
  test_prompt_with_embedded_resource: [
    ['resourceUri'],
    (_, { resourceUri }) => [
      user(resource(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
      plain('Please process the embedded resource above.'),
    ],
  ],
  test_prompt_with_image: [[], () => [user(image), plain('Please analyze the image above.')]],
  test_input_required_result_prompt: [
    [],
    async call => {
      const question = form('What context should the prompt use?', { context: string }, ['context']);
      const { user_context } = await call.ask({ user_context: question });
      return [plain(`In the context of ${user_context.content?.context}.`)];
    },
  ],
};

// --- changes -----------------------------------------------------------------------------------------------------

const extra = { tool: false, prompt: false };
const listening = new Map();

function changed(list) {
  const method = `notifications/${list}/list_changed`;
  if (!modern) return notify(method);
  for (const [id, wanted] of listening) {
    if (wanted[`${list}ListChanged`]) notify(method, { _meta: { [`${META}subscriptionId`]: id } });
  }
}

// --- methods -----------------------------------------------------------------------------------------------------

let clientCapabilities = {};
const cached = { ttlMs: 0, cacheScope: 'public' };
const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const methods = {
  'tools/list': () => {
    const names = [...Object.keys(tools), ...(extra.tool ? ['test_extra_tool'] : [])];
    const entry = name => ({
      name,
      description: `The suite's ${name}`,
      inputSchema: schemas[name] ?? { type: 'object', properties: {} },
    });
    return { tools: names.map(entry), ...cached };
  },
  'tools/call': params => {
    const tool = tools[params.name];
    if (!tool) throw new Failed(-32602, `there is no tool ${params.name}`);
    return tool(new Call(params), params.arguments ?? {});
  },
  'resources/list': () => {
    const resource = (uri, mimeType) => ({ uri, name: uri.slice(7), description: `The suite's ${uri}`, mimeType });
    return {
      resources: [
        resource('test://static-text', 'text/plain'),
        resource('test://static-binary', 'image/png'),
        resource('test://watched-resource', 'text/plain'),
      ],
      ...cached,
    };
  },
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: TEMPLATE, name: 'template', mimeType: 'application/json' }],
    ...cached,
  }),
  'resources/read': ({ uri }) => ({ ...read(uri), ...cached }),
  'prompts/list': () => {
    const entry = ([name, [args]]) => ({ name, description: `The suite's ${name}`, arguments: args.map(argument) });
    const more = extra.prompt ? [{ name: 'test_extra_prompt', description: 'One more' }] : [];
    return { prompts: [...Object.entries(prompts).map(entry), ...more], ...cached };
  },
  'prompts/get': async params => {
    const prompt = prompts[params.name];
    if (!prompt) throw new Failed(-32602, `there is no prompt ${params.name}`);
    return { messages: await prompt[1](new Call(params), params.arguments ?? {}) };
  },
  'completion/complete': () => ({ completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false } }),
};

const legacy = {
  initialize: ({ protocolVersion, capabilities: theirs }) => {
    clientCapabilities = theirs ?? {};
    return { protocolVersion, capabilities, serverInfo: INFO };
  },
  ping: () => ({}),
  'logging/setLevel': () => ({}),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
};

const standingAlone = {
  'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities, ...cached }),
};

async function answer({ id, method, params = {} }) {
  const handler = methods[method] ?? (modern ? standingAlone : legacy)[method];
  try {
    if (!handler) throw new Failed(-32601, `there is no method ${method}`);
    const result = await handler(params);
    const complete = { resultType: 'complete', ...result, _meta: { [`${META}serverInfo`]: INFO } };
    write({ id, result: modern ? complete : result });
  } catch (error) {
    if (error instanceof Asks) {
      // What was answered so far comes back with the state.
      const state = JSON.stringify({ ...new Call(params).answers });
      const requestState = `${seal(state)}|${state}`;
      return write({ id, result: { resultType: 'input_required', inputRequests: error.requests, requestState } });
    }
    const { code = -32603, message, data } = error;
    write({ id, error: { code, message, data } });
  }
}

function listen(id, { notifications }) {
  listening.set(id, notifications);
  const _meta = { [`${META}subscriptionId`]: id };
  notify('notifications/subscriptions/acknowledged', { _meta, notifications });
}

function take(message) {
  const { id, method, params } = message;
  if (method === undefined) {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    return message.error ? reject?.(new Error(message.error.message)) : resolve?.(message.result);
  }
  if (modern && method === 'subscriptions/listen') return listen(id, params);
  if (method === 'notifications/cancelled') return listening.delete(params.requestId);
  if (id !== undefined) return answer(message);
}

createInterface({ input: process.stdin }).on('line', line => take(JSON.parse(line)));
