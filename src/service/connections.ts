import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Where all are taken, the connection that is longest without a request makes room; where all are at work, the new one is closed. */
export function boundConnections(server: Server, most: number): void {
  let open = 0;
  // In the order in which they became idle.
  const idle = new Set<Socket>();
  const requests = new WeakMap<Socket, number>();
  server.on("connection", (socket: Socket) => {
    open += 1;
    socket.once("close", () => {
      open -= 1;
      idle.delete(socket);
    });
    if (open > most) {
      const [longest = socket] = idle;
      longest.destroy();
    }
    idle.add(socket);
  });
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    requests.set(socket, (requests.get(socket) ?? 0) + 1);
    response.once("close", () => {
      // A client may have sent several without waiting.
      const left = (requests.get(socket) ?? 1) - 1;
      requests.set(socket, left);
      if (left === 0 && !socket.destroyed) idle.add(socket);
    });
  });
}
