// The shapes that the gateway speaks, for the type checker alone; no browser ever loads this file.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Session {
  signed_in: boolean;
  needs_token: boolean;
  name: string | null;
  may_call?: boolean;
  may_administer?: boolean;
  may_add_servers?: boolean;
  may_approve?: boolean;
  may_watch?: boolean;
  version: string;
}

export interface Stages { open: number; lookup: number; check: number; wait: number; run: number; shape: number; held?: number }

export interface Call {
  id: string;
  tool: string;
  server?: string | null;
  arguments?: Json;
  arguments_cut?: boolean;
  outcome: string;
  duration_ms?: number | null;
  started: string;
  caller?: string | null;
  client?: string | null;
  conversation?: string | null;
  /** Where it was made, if the calls of all nodes are shown. */
  node?: { id: string; host: string };
  /** The text by which the records found it. */
  found?: string;
  /** The beginning of its result, as it was told. */
  result?: Json;
}

/** A turn of a model. */
export interface Turn {
  id: string;
  model: string;
  provider: string;
  conversation: string | null;
  caller: string | null;
  started: string;
  duration_ms: number;
  error_kind: string | null;
  input_tokens: number;
  output_tokens: number;
}

export interface Artifact { id: string; kind: string; media_type?: string; size?: number }

export interface Place { segment: number; line?: number; offset: number; hash: string; previous?: string }

export interface CallDetail extends Call {
  result?: Json;
  /** What models and people read of an MCP result. */
  text?: string;
  error?: string;
  hint?: string;
  causes?: string[];
  bytes?: number;
  reused?: string;
  stages_ms?: Stages;
  truncated?: boolean;
  artifacts?: Artifact[];
  journal?: Place[];
  approval?: { decision: string; by?: string; reason?: string; rule?: string };
}

export interface LiveEvent extends Partial<Call> {
  type: string;
  id: string;
  tool: string;
  call_id?: string;
  expires?: string;
}

export interface Tool {
  name: string;
  description: string;
  parameters: Schema;
  server?: string;
  annotations: { read_only?: boolean | null; idempotent?: boolean | null; destructive?: boolean | null; open_world?: boolean | null };
  output_schema?: Schema;
  /** The rule by which a person is asked. */
  held?: string;
  /** The rule by which it is denied. */
  denied?: string;
  health?: string;
  use?: {
    calls: number; failures: number; p50_ms: number | null; p95_ms: number | null;
    last: { id: string; outcome: string; started: string } | null;
  };
}

/** What definitions take of a model's context. */
export interface ToolCosts {
  total_tokens: number;
  unused_tokens: number;
  servers: ServerCost[];
  profiles: ProfileCost[];
}
export interface ProfileCost { profile: string; tokens: number; tools: number }
export interface ServerCost {
  server: string | null;
  tokens: number;
  tools: { name: string; tokens: number; calls_30d: number }[];
}

export type Schema = boolean | SchemaObject;
export interface SchemaObject {
  $ref?: string;
  type?: string | string[];
  title?: string;
  description?: string;
  default?: Json;
  examples?: Json[];
  enum?: Json[];
  const?: Json;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  items?: Schema | Schema[];
  prefixItems?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  [key: string]: unknown;
}

export interface Validation { valid: boolean; problems: { path: string; message: string }[]; text: string | null }

export interface Envelope {
  success: boolean;
  result?: Json;
  /** What models and people read of an MCP result. */
  text?: string;
  error?: string;
  error_kind?: string;
  hint?: string;
  tool_name: string;
  execution_time_ms: number;
  waited_ms?: number;
  call_id?: string;
  truncated?: boolean;
  artifacts?: Artifact[];
}

export interface Progress { progress: number; total: number | null; message: string | null }

export interface Server {
  name: string;
  state: string;
  kind?: string;
  /** Its command line or address. */
  origin?: string;
  check?: string;
  era?: string | null;
  protocol?: string | null;
  server?: { name: string; version: string } | null;
  since?: string | null;
  starts?: number;
  restarts?: number;
  error?: string | null;
  error_at?: string | null;
  tools?: number;
  skipped_tools?: string[];
  waiting?: Waiting[];
  clients?: number;
  stderr?: string[] | null;
  /** How its program is confined, if it is. */
  sandbox?: { mode: string; refused: { what: string; remedy: string }[] };
  sign_in?: {
    /** As in the config: `shared`, `client`, `exchange`, or `user` if it is the caller's own. */
    auth: string;
    state: string;
    reason?: string;
    issuer: string | null;
    /** Who signed in, as the issuer calls them. */
    account: string | null;
    scopes: string[];
    until: string | null;
    renews: boolean;
    /** How many callers are signed in, if each has its own. */
    callers?: number;
  };
  workers?: { id: string; running: number; capacity: number; version: string; started: number }[];
}

/** What a server says that is not in the lock. */
export interface Waiting {
  kind: string;
  name: string;
  hash: string;
  change: string;
  says: string;
  notes: string[];
  diff: string[];
  findings: string[];
}

export interface Figures { calls: number; failures: number; p50_ms: number | null; p95_ms: number | null; p99_ms: number | null }

export interface Stats {
  from: string;
  until: string;
  step_ms: number;
  partial?: boolean;
  total: Figures;
  kinds: Record<string, number>;
  steps: (Figures & { at: string })[];
  groups: (Figures & { name: string | null })[];
  /** Of all nodes of a cluster, and where the figures of each are from. */
  nodes?: { id: string; host: string; source: 'node' | 'shipped' | 'missing' }[];
}

export interface Approval {
  id: string;
  call_id?: string;
  tool: string;
  server?: string | null;
  arguments: Json;
  asked_by?: string | null;
  reason?: string | null;
  asked: string;
  expires: string;
  note?: string | null;
  four_eyes?: boolean;
}

export interface ListedChat { id: string; model: string; started: string; updated: string; turns: number; title: string }

/** A chat that was kept. */
export interface SavedChat {
  id: string;
  model: string;
  started: string;
  messages: {
    role: 'system' | 'user' | 'assistant' | 'tool';
    content: string;
    tool_calls?: { id: string; tool: string; arguments: Json }[];
    tool_call_id?: string;
    is_error?: boolean;
  }[];
}

/** A run in the list. */
export interface ListedRun {
  id: string;
  state: 'running' | 'ended' | 'failed' | 'cancelled' | 'interrupted';
  model: string;
  started: string;
  question?: string;
  turns: number;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cost?: number;
  client?: string;
  caller?: string;
  chat?: string;
  profile?: string;
  error?: string;
}

export interface Runs { recorded: boolean; runs: ListedRun[] }

/** A call of a run's turn. */
export interface RunCall {
  tool_call_id: string;
  tool: string;
  outcome: string;
  call_id: string | null;
  ended_ms: number | null;
  duration_ms: number | null;
  decision?: string;
  decided_by?: string | null;
}

export interface RunMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  tool_calls?: { id: string; name: string; args: Json }[];
  tool_call_id?: string;
  is_error?: boolean;
}

/** A run, turn by turn. */
export interface RunDetail extends ListedRun {
  answer: string | null;
  messages: RunMessage[];
  shortened: { tool_call_id: string; artifact: string }[];
  timeline: { input_tokens: number; output_tokens: number; ended_ms: number; cost?: number; calls: RunCall[] }[];
}

/** Something that an MCP server asks in the middle of a call. */
export interface Question {
  id: string;
  call_id: string | null;
  tool: string;
  server: string;
  method: string;
  request: {
    message?: string;
    mode?: string;
    url?: string;
    requestedSchema?: SchemaObject;
    systemPrompt?: string;
    maxTokens?: number;
    messages?: { role: string; content: Json }[];
  };
  model: string | null;
  asked: string;
  expires: string;
}

export interface ShownPolicy {
  file: string | null;
  refused: { error: string; at: string } | null;
  allow: string[];
  deny: string[];
  ask: string[];
  read_only: boolean;
  ask_destructive: boolean;
  ask_if: string[];
  allow_if: string[];
  deny_if: string[];
  ask_timeout: string;
  four_eyes: boolean;
  secret_arguments: string[];
}

export interface PolicyReport {
  calls: number;
  same: number;
  skipped: number;
  changes: { change: 'denied' | 'asked' | 'allowed'; tool: string; rule: string | null; calls: number; example: string; known: boolean }[];
}

export interface Decision {
  call_id: string;
  tool: string;
  caller: string | null;
  client: string | null;
  started: string;
  decision: string;
  by: string | null;
  reason: string | null;
  rule: string;
}

/** A server that was added. */
export interface AddedServer { name: string; tools: string[]; notes: string[] }

export interface Tokens {
  tools: number;
  tokens: {
    name: string; tools: string[] | null; visible: number; rate: string | null; concurrent: number | null;
    cost_budget?: number; admin: boolean; approve: boolean; watch: boolean; created: string;
  }[];
}

export interface Rule { id: string; tool: string; arguments?: Json; by: string; created: string }

export interface Route { path: string[]; query: URLSearchParams }

/** What is shown in the page's main part. */
export interface View {
  /** Another address of the same section. */
  update?(route: Route): void;
  /** It goes away. */
  close?(): void;
}

declare global {
  interface JSON {
    rawJSON?(text: string): { rawJSON: string };
    isRawJSON?(value: unknown): value is { rawJSON: string };
  }
}
