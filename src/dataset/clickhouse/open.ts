import { ReloadingEngine, type ReloadOptions } from "../embedded/reloading-engine.ts";
import type { Engine } from "../engine.ts";
import { NoDatasetError } from "../layout.ts";
import { type ClickHouseServers, closeAll, connectClickHouse } from "./connect.ts";
import { ClickHouseEngine } from "./engine.ts";
import { ServerPool } from "./pool.ts";

export const openClickHouse = (address: string, password = ""): Promise<Engine> =>
  opened(address, password, (servers) => ClickHouseEngine.open(servers));

/** An engine that goes over to the next dataset version, or one without somebody, at the first call a second later. */
export function followClickHouse(address: string, password: string, options: ReloadOptions): Promise<Engine> {
  return opened(address, password, (servers) => {
    const pool = new ServerPool(servers);
    const version = async (): Promise<string> => {
      const active = await pool.look();
      if (active === undefined) throw new NoDatasetError("this ClickHouse holds no dataset");
      return active.info.version;
    };
    return ReloadingEngine.follow(
      { stamp: version, version, open: () => ClickHouseEngine.open(servers, { pool }) },
      options,
    );
  });
}

async function opened(
  address: string,
  password: string,
  open: (servers: ClickHouseServers) => Promise<Engine>,
): Promise<Engine> {
  const servers = await connectClickHouse(address, password);
  try {
    const engine = await open(servers);
    const close = engine.close.bind(engine);
    engine.close = () => close().then(() => closeAll(servers));
    return engine;
  } catch (error) {
    await closeAll(servers);
    throw error;
  }
}
