// What a clone does not install: 33 MB of which the service makes two objects. `npm run foreign` brings it, for the test.
declare module "@opentelemetry/exporter-trace-otlp-http" {
  export const OTLPTraceExporter: new () => import("@opentelemetry/sdk-trace-base").SpanExporter;
}
declare module "@opentelemetry/exporter-metrics-otlp-http" {
  export const OTLPMetricExporter: new () => import("@opentelemetry/sdk-metrics").PushMetricExporter;
}
