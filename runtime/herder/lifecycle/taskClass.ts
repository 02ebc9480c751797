/** The task class that Kafka Connect would show for a connector class. */
export function taskClassOf(connectorClass: string): string {
  return connectorClass.endsWith('Connector') ? connectorClass.replace(/Connector$/, 'Task') : `${connectorClass}Task`;
}
