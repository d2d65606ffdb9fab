import { HEADERS, PARAMETERS, RESPONSES } from "./components.ts";
import { FACET_SCHEMAS } from "./facets.ts";
import { OPENAPI_DESCRIPTION } from "./guide.ts";
import { OPERATIONS } from "./operations.ts";
import { OPENAPI_SCHEMAS } from "./schemas.ts";
import type { OpenApiDocument } from "./types.ts";

/** The API as an OpenAPI 3.0.3 document, from the tables that client and service check by; kept as docs/openapi.json. */
export function openApiDocument(): OpenApiDocument {
  return {
    openapi: "3.0.3",
    info: {
      title: "headcount: Professional-Network Dataset API",
      version: "1.0.0",
      description: OPENAPI_DESCRIPTION,
      contact: { name: "Whoever runs this service" },
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    // Relative: a client that reads its address from here sends the key to the service that gave it the document, and to no other.
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
            "An API key, `hc_live_...` or `hc_test_...`, as `Authorization: Bearer <API_KEY>`. It is shown once, at creation.",
        },
      },
      schemas: { ...OPENAPI_SCHEMAS, ...FACET_SCHEMAS },
      headers: HEADERS,
      parameters: PARAMETERS,
      responses: RESPONSES,
    },
  };
}

export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;
