/**
 * kafkajs 2.2.4 re-arms a timer of 1 ms for ever on every connection that once had a response, throttled or not. Here a timer is set only while something
 * waits for it. Importing this module applies the patch.
 */
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

RequestQueue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
  if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
  this.throttleCheckTimeoutId = setTimeout(
    () => {
      this.throttleCheckTimeoutId = null;
      this.checkPendingRequests();
    },
    Math.max(this.throttledUntil - Date.now(), 10),
  );
};
