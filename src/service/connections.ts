import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Where all are taken, the connection that is longest without a request makes room; where all are at work, the new one is closed. */
export function boundConnections(server: Server, most: number): void {
  let open = 0;
  // In the order in which they became idle.
  const idle = new Set<Socket>();
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
  const busy = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    idle.delete(socket);
    response.once("close", () => {
      if (!socket.destroyed) idle.add(socket);
    });
  };
  server.prependListener("request", busy);
}
