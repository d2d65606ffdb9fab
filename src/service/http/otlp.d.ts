// What a clone does not install: 33 MB for one object of the service. `npm run foreign` brings it, for the test.
declare module "@opentelemetry/exporter-trace-otlp-http" {
  export const OTLPTraceExporter: new () => import("@opentelemetry/sdk-trace-base").SpanExporter;
}
