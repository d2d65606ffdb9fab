import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import type { FastifyRequest } from "fastify";
import { creditsToNumber, ZERO } from "../../shared/contract/money.ts";
import { packageVersion } from "../../shared/version.ts";
import { CLIENT_GONE, type Trace } from "./call.ts";
import { needed } from "./missing-package.ts";

export interface Telemetry {
  begin(request: FastifyRequest): Trace;
  close(): Promise<void>;
}

/** Seven packages of one house and nothing below them: without the 50 others of its full kit. */
const load = () =>
  Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/core"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/sdk-metrics"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/exporter-metrics-otlp-http"),
  ]);
// With versions: the next ones leave Node 20.
const PACKAGES = ["api@1", "core@2", "resources@2", "sdk-trace-base@2", "sdk-metrics@2"]
  .concat("exporter-trace-otlp-http@0.223", "exporter-metrics-otlp-http@0.223")
  .map((name) => `@opentelemetry/${name}`)
  .join(" ");

/** What a service that ends gives its collector, in milliseconds. */
const LAST_MS = 2_000;

/**
 * Traces and metrics over OTLP, set by OpenTelemetry's own variables (docs/service.md).
 * What is sent is the allow-list of the log:
 * never a key, a filter value or a record. A collector that cannot be reached holds no call up.
 * @throws MissingPackageError where the packages are not installed
 */
export async function openTelemetry(env: NodeJS.ProcessEnv): Promise<Telemetry> {
  const [api, core, resources, traces, metrics, traceOut, metricOut] = await needed(PACKAGES, load());
  const resource = resources
    .resourceFromAttributes({ "service.name": "headcount", "service.version": packageVersion() })
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  const tracing = new traces.BasicTracerProvider({
    resource,
    spanProcessors: [new traces.BatchSpanProcessor(new traceOut.OTLPTraceExporter())],
  });
  const exportIntervalMillis = Number(env.OTEL_METRIC_EXPORT_INTERVAL) || 60_000;
  const metering = new metrics.MeterProvider({
    resource,
    readers: [
      new metrics.PeriodicExportingMetricReader({
        exporter: new metricOut.OTLPMetricExporter(),
        exportIntervalMillis,
        exportTimeoutMillis: Math.min(exportIntervalMillis, 30_000),
      }),
    ],
  });
  const observe = instruments(metering.getMeter("headcount", packageVersion()));
  const tracer = tracing.getTracer("headcount", packageVersion());
  const propagator = new core.W3CTraceContextPropagator();
  return {
    begin({ headers, method }) {
      const caller = propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter);
      const span = tracer.startSpan(method, { kind: api.SpanKind.SERVER }, caller);
      return {
        id: span.spanContext().traceId,
        step: steps(tracer, api.trace.setSpan(caller, span), api.SpanStatusCode.ERROR),
        end(request, status, ms) {
          endCall(span, request, status, api.SpanStatusCode.ERROR);
          observe(request, status, ms);
        },
      };
    },
    close: async () => {
      const sent = Promise.allSettled([tracing.shutdown(), metering.shutdown()]);
      // Whether or not somebody takes it: the service ends.
      await Promise.race([sent, new Promise<void>((resolve) => setTimeout(resolve, LAST_MS).unref())]);
    },
  };
}

const steps =
  (tracer: Tracer, parent: Context, failed: number): Trace["step"] =>
  async (name, work) => {
    const span = tracer.startSpan(name, {}, parent);
    try {
      return await work();
    } catch (error) {
      // Its name alone: a message may repeat what was asked for.
      span.setStatus({ code: failed }).setAttribute("error.type", error instanceof Error ? error.name : "unknown");
      throw error;
    } finally {
      span.end();
    }
  };

function endCall(span: Span, request: FastifyRequest, status: number, failed: number): void {
  const { call, method } = request;
  const { route } = call;
  span.updateName(route === null ? method : `${method} ${route}`);
  span.setAttributes({
    "http.request.method": method,
    "http.response.status_code": status,
    "headcount.request_id": call.requestId,
    "headcount.credits": creditsToNumber(call.charged),
    ...(route === null ? {} : { "http.route": route }),
    ...(call.key === undefined ? {} : { "headcount.key_id": call.key.id }),
  });
  if (status >= 500 || status === CLIENT_GONE) span.setStatus({ code: failed });
  span.end();
}

type Meter = ReturnType<import("@opentelemetry/sdk-metrics").MeterProvider["getMeter"]>;

/** The instruments, by call and status alone: never by key, account or filter. */
function instruments(meter: Meter): (request: FastifyRequest, status: number, ms: number) => void {
  const duration = meter.createHistogram("http.server.request.duration", {
    unit: "s",
    description: "Time from the request's head to the end of the answer",
    advice: { explicitBucketBoundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] },
  });
  const charged = meter.createCounter("headcount.credits.charged", { unit: "{credit}" });
  const unanswered = meter.createCounter("headcount.credits.charged_unanswered", {
    unit: "{credit}",
    description: "Charged by calls whose client did not take the answer",
  });
  return (request, status, ms) => {
    const { call, method } = request;
    const { route } = call;
    const labels: Attributes = { "http.request.method": method, "http.response.status_code": status };
    duration.record(ms / 1_000, route === null ? labels : { ...labels, "http.route": route });
    if (call.charged === ZERO) return;
    const credits = creditsToNumber(call.charged);
    charged.add(credits, { call: call.name ?? "other", mode: call.key?.mode ?? "live" });
    if (status === CLIENT_GONE) unanswered.add(credits, { call: call.name ?? "other" });
  };
}
