const PROTOCOL_VERSION = "2025-11-25";
/** One client at a transport that has not been started yet. */
export class Dialogue {
    transport;
    notifications = [];
    errors = [];
    closes = 0;
    /** Settles at the first `onclose`. */
    closed;
    /** Settles when an answer was over the cap, however the transport says so. */
    tooLarge;
    #waiting = new Map();
    #nextId = 1;
    constructor(transport) {
        this.transport = transport;
        transport.onmessage = (message) => this.#receive(message);
        transport.onerror = (error) => this.errors.push(error);
        let onTooLarge = () => { };
        this.tooLarge = new Promise((resolve) => {
            onTooLarge = resolve;
        });
        transport.ondiscard = ({ error }) => onTooLarge(error.code);
        transport.onstreamcut = (_id, error) => onTooLarge(error.code);
        this.closed = new Promise((resolve) => {
            transport.onclose = () => {
                this.closes++;
                if (transport.closeError)
                    onTooLarge(transport.closeError.code);
                resolve();
            };
        });
    }
    /** Starts the transport and shakes hands. */
    async open() {
        await this.transport.start();
        const clientInfo = { name: "contract", version: "1.0.0" };
        await this.request("initialize", { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo });
        this.transport.setProtocolVersion?.(PROTOCOL_VERSION);
        await this.transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
        return this;
    }
    request(method, params = {}) {
        const id = this.#nextId++;
        return new Promise((resolve, reject) => {
            this.#waiting.set(id, { resolve, reject });
            this.transport.send({ jsonrpc: "2.0", id, method, params }).catch((error) => {
                this.#waiting.delete(id);
                reject(error);
            });
        });
    }
    #receive(message) {
        if ("method" in message) {
            this.notifications.push(message);
            return;
        }
        const waiting = this.#waiting.get(message.id);
        this.#waiting.delete(message.id);
        if ("error" in message)
            waiting?.reject(message.error);
        else
            waiting?.resolve(message.result);
    }
}
