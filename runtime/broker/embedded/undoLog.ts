/** Steps that take the log thread's memory back to the last commit when a write transaction of the store fails. */
export class UndoLog {
  #steps: (() => void)[] = [];

  push(step: () => void): void {
    this.#steps.push(step);
  }

  commit(): void {
    this.#steps.length = 0;
  }

  rollback(): void {
    for (let i = this.#steps.length - 1; i >= 0; i--) this.#steps[i]();
    this.#steps.length = 0;
  }
}
