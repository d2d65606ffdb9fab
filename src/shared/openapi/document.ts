import { API_SCHEMAS } from "../schema/api.ts";
import {
  type ApiResponse,
  HEADERS,
  type Header,
  PARAMETERS,
  type Parameter,
  RESPONSES,
} from "./components.ts";
import { openApis } from "./convert.ts";
import { OPENAPI_DESCRIPTION } from "./guide.ts";
import { OPERATIONS } from "./operations.ts";

/**
 * The API as an OpenAPI 3.0.3 document, from the tables
 * that client and service check by (docs/openapi.json).
 */
export function openApiDocument() {
  return {
    openapi: "3.0.3",
    info: {
      title: "headcount: Professional-Network Dataset API",
      version: "1.0.0",
      description: OPENAPI_DESCRIPTION,
      contact: { name: "Whoever runs this service" },
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    // Relative: a client that reads its address from here
    // sends the key to the service that gave it the document.
    servers: [{ url: "/", description: "the service that serves this document" }],
    security: [{ apiKey: [] }],
    tags: [
      { name: "Account", description: "What is left, what may be asked, and what it costs." },
      { name: "People", description: "Count a segment for free, then buy its profiles." },
      { name: "Companies", description: "Look a company up, and the people who work there." },
    ],
    paths: OPERATIONS,
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          description:
            "An API key, `hc_live_...` or `hc_test_...`, as `Authorization: " +
            "Bearer <API_KEY>`. It is shown once, at creation.",
        },
      },
      schemas: openApis(API_SCHEMAS),
      headers: HEADERS as Readonly<Record<string, Header>>,
      parameters: PARAMETERS as Readonly<Record<string, Parameter>>,
      responses: RESPONSES as Readonly<Record<string, ApiResponse>>,
    },
  };
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;
