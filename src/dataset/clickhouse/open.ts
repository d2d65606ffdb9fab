import { ReloadingEngine, type ReloadOptions } from "../embedded/reloading-engine.ts";
import type { Engine } from "../engine.ts";
import { NoDatasetError } from "../layout.ts";
import { activeDataset } from "./active.ts";
import { closeAll, connectClickHouse } from "./connect.ts";
import { ClickHouseEngine } from "./engine.ts";

export async function openClickHouse(address: string, password = ""): Promise<Engine> {
  const { clients, topology, dialect } = await connectClickHouse(address, password);
  const [client, ...others] = clients;
  try {
    const engine = await ClickHouseEngine.open({ client, topology, dialect });
    return closingAlso(engine, () => closeAll(others));
  } catch (error) {
    await closeAll(clients);
    throw error;
  }
}

function closingAlso<Kind extends Engine>(engine: Kind, also: () => Promise<void>): Kind {
  const close = engine.close.bind(engine);
  engine.close = () => close().then(also);
  return engine;
}

/** An engine that goes over to the next dataset version, or one without somebody, at the first call a second later. */
export async function followClickHouse(address: string, password: string, options: ReloadOptions): Promise<Engine> {
  const watch = await connectClickHouse(address, password);
  const stamp = async (): Promise<string> =>
    (await activeDataset(watch.clients[0], watch.topology))?.info.version ?? "";
  const version = async (): Promise<string> => {
    const active = await stamp();
    if (active === "") throw new NoDatasetError("this ClickHouse has lost its dataset; the one that is open goes on");
    return active;
  };
  const stop = (): Promise<void> => closeAll(watch.clients);
  try {
    const place = { stamp, version, open: () => openClickHouse(address, password) };
    return closingAlso(await ReloadingEngine.follow(place, options), stop);
  } catch (error) {
    await stop();
    throw error;
  }
}
