/** The parts of OpenAPI 3.0.3 that the document uses: enough for the reference page and the tests to walk it safely. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface Ref {
  readonly $ref: string;
}

export interface OpenApiSchema {
  readonly title?: string;
  readonly description?: string;
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly Json[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly example?: Json;
  readonly items?: OpenApiSchema | Ref;
  readonly properties?: Readonly<Record<string, OpenApiSchema | Ref>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly anyOf?: readonly (OpenApiSchema | Ref)[];
  readonly allOf?: readonly (OpenApiSchema | Ref)[];
}

export interface Example {
  readonly summary: string;
  readonly value: Json;
}

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly description: string;
  readonly required: boolean;
  readonly schema: OpenApiSchema;
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface Header {
  readonly description: string;
  readonly required: boolean;
  readonly schema: OpenApiSchema;
  readonly example?: Json;
}

export interface MediaType {
  readonly schema: OpenApiSchema | Ref;
  readonly examples: Readonly<Record<string, Example>>;
}

export interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, Header | Ref>>;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface RequestBody {
  readonly description: string;
  readonly required: boolean;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly (Parameter | Ref)[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, Response | Ref>>;
  readonly "x-cost": string;
}

export type HttpMethod = "get" | "post";
type PathItem = { readonly [method in HttpMethod]?: Operation };

export interface OpenApiDocument {
  readonly openapi: "3.0.3";
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly contact: { readonly name: string };
    readonly license: { readonly name: string; readonly url: string };
  };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
    readonly schemas: Readonly<Record<string, OpenApiSchema>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}
