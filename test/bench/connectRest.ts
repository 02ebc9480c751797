/** Connect's REST API, as a user drives any worker with it. */
import { waitUntil } from '../services/waitUntil.ts';

/** A Java worker has taken four minutes to its first task on a machine that others used too. */
const STATE_TIMEOUT_MS = 300_000;

interface Status {
  readonly connector: { readonly state: string; readonly trace?: string };
  readonly tasks: readonly { readonly state: string; readonly trace?: string }[];
}

export class ConnectRest {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Creates the connector and waits until its task runs. */
  async create(name: string, config: Readonly<Record<string, string>>): Promise<void> {
    await this.#request('POST', '/connectors', { name, config });
  }

  async running(name: string): Promise<void> {
    await this.#until(name, s => s.connector.state === 'RUNNING' && s.tasks.some(task => task.state === 'RUNNING'));
  }

  async stop(name: string): Promise<void> {
    await this.#request('PUT', `/connectors/${name}/stop`);
    await this.#until(name, s => s.connector.state === 'STOPPED' && s.tasks.length === 0);
  }

  async resume(name: string): Promise<void> {
    await this.#request('PUT', `/connectors/${name}/resume`);
  }

  async delete(name: string): Promise<void> {
    await this.#request('DELETE', `/connectors/${name}`);
  }

  /** Throws with the trace where the connector or a task failed. */
  async check(name: string): Promise<void> {
    const status = await this.#status(name);
    const failed = [status?.connector, ...(status?.tasks ?? [])].find(part => part?.state === 'FAILED');
    if (failed !== undefined) throw new Error(`connector ${name} failed: ${failed.trace}`);
  }

  async #until(name: string, condition: (status: Status) => boolean): Promise<void> {
    await waitUntil(
      `the state of connector ${name}`,
      STATE_TIMEOUT_MS,
      async () => {
        await this.check(name);
        const status = await this.#status(name);
        return status !== null && condition(status);
      },
      20,
    );
  }

  /** null: not known yet. */
  async #status(name: string): Promise<Status | null> {
    const answer = await fetch(`${this.#url}/connectors/${name}/status`);
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`status of ${name}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Status;
  }

  async #request(method: string, path: string, body?: unknown): Promise<void> {
    // a worker that is rebalancing answers 409: ask again
    for (let attempt = 1; ; attempt++) {
      const answer = await fetch(this.#url + path, {
        method,
        ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      });
      if (answer.ok) return;
      const text = await answer.text();
      if (answer.status !== 409 || attempt === 50) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      await new Promise(resolve => setTimeout(resolve, 200));
    }
  }
}
