// The shapes that the gateway speaks, for the type checker alone; no browser ever loads this file.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Session {
  signed_in: boolean;
  needs_token: boolean;
  name: string | null;
  may_call?: boolean;
  may_administer?: boolean;
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
  health?: string;
  use?: {
    calls: number; failures: number; p50_ms: number | null; p95_ms: number | null;
    last: { id: string; outcome: string; started: string } | null;
  };
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
  era?: string | null;
  protocol?: string | null;
  server?: { name: string; version: string } | null;
  since?: string | null;
  starts?: number;
  restarts?: number;
  error?: string | null;
  error_at?: string | null;
  tools?: number;
  set_aside?: string[];
  clients?: number;
  stderr?: string[] | null;
  workers?: { id: string; running: number; capacity: number; version: string; started: number }[];
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
