/**
 * Levels of named loggers, as /admin/loggers shows and sets them. Names form a tree by their dots, below `root`; a logger without a level of its own has
 * its parent's. What a connector logs goes by `connector.<name>`.
 */
export const logLevels = ['OFF', 'FATAL', 'ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LoggerLevel {
  readonly level: LogLevel;
  /** ms since the epoch; null until it was set while running. */
  readonly last_modified: number | null;
}

export class LogLevels {
  readonly #known = new Map<string, LoggerLevel | null>();

  constructor(root: LogLevel) {
    this.#known.set('root', { level: root, last_modified: null });
  }

  static parse(text: string): LogLevel | null {
    return logLevels.find(level => level === text.toUpperCase()) ?? null;
  }

  /** Every known logger, by name. */
  list(): Record<string, LoggerLevel> {
    return Object.fromEntries([...this.#known.keys()].sort().map(name => [name, this.#effective(name)]));
  }

  /** null = never heard of. */
  get(name: string): LoggerLevel | null {
    return this.#known.has(name) ? this.#effective(name) : null;
  }

  /** Makes a logger known, and says whether it logs at `level`. */
  isEnabled(name: string, level: LogLevel): boolean {
    if (!this.#known.has(name)) this.#known.set(name, null);
    return logLevels.indexOf(level) <= logLevels.indexOf(this.#effective(name).level);
  }

  /** Sets a logger and all below it; returns, sorted, those whose level changed. */
  set(name: string, level: LogLevel): string[] {
    if (!this.#known.has(name)) this.#known.set(name, null);
    const affected = [...this.#known.keys()].filter(
      known => known === name || name === 'root' || known.startsWith(`${name}.`),
    );
    const changed = affected.filter(known => this.#effective(known).level !== level).sort();
    for (const known of changed) this.#known.set(known, { level, last_modified: Date.now() });
    return changed;
  }

  #effective(name: string): LoggerLevel {
    for (let ancestor = name; ; ) {
      const own = this.#known.get(ancestor);
      if (own) return own;
      const dot = ancestor.lastIndexOf('.');
      if (dot < 0) return this.#known.get('root')!;
      ancestor = ancestor.slice(0, dot);
    }
  }
}
