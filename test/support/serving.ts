import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type User, user } from "./export.ts";
import { type FaultProxy, faultProxy } from "./fault-proxy.ts";
import { startTestService, type TestService, type TestServiceOptions } from "./service.ts";

/** What the account of {@link serveUsers} begins with. */
export const CREDITS = 100_000;

export interface Serving {
  service: TestService;
  /** A new one for each test. */
  u: User;
}

/** A service for all tests of a file or block: it is there once they begin. */
export function testService(options?: TestServiceOptions): TestService {
  let service: TestService | undefined;
  beforeAll(async () => {
    service = await startTestService(options);
  });
  afterAll(() => service?.close());
  return new Proxy({} as TestService, {
    get: (_, name) => service?.[name as keyof TestService],
  });
}

/** A service of 2,000 people for all tests of a file, and a user of it. @param ready gets them before each test */
export function serveUsers(ready: (now: Serving) => void): void {
  const now = {} as Serving;
  beforeAll(async () => {
    now.service = await startTestService({ people: 2_000, credits: CREDITS });
  });
  afterAll(() => now.service.close());
  beforeEach(() => {
    now.u = user(now.service.url, now.service.key);
    ready(now);
  });
}

/** The same with a proxy between, that can be told to fail. */
export function serveThroughProxy(ready: (now: Serving & { proxy: FaultProxy }) => void): void {
  let proxy: FaultProxy;
  let serving: Serving;
  serveUsers((now) => {
    serving = now;
  });
  beforeEach(async () => {
    const { service } = serving;
    proxy = await faultProxy({ target: service.url });
    ready({ service, proxy, u: user(proxy.url, service.key) });
  });
  afterEach(() => proxy.close());
}
