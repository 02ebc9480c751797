// From the socket to the row objects of com.zendesk:mysql-binlog-connector-java, as it comes; with schemas, on to the Avro bytes of keys and change events.
// java -cp LIBRARIES --source 17 BinlogClient.java PORT FILE POSITION ROWS WARM_UPS PASSES SERVER_ID [KEY_SCHEMA VALUE_SCHEMA]
import com.github.shyiko.mysql.binlog.BinaryLogClient;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.EventHeaderV4;
import com.github.shyiko.mysql.binlog.event.GtidEventData;
import com.github.shyiko.mysql.binlog.event.QueryEventData;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer.CompatibilityMode;
import com.sun.management.OperatingSystemMXBean;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.util.Utf8;

public class BinlogClient {
  static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  // Held on to: a logger that nobody holds forgets its level.
  static final Logger LOGGER = Logger.getLogger("com.github.shyiko");
  // From the first rows on, which are not counted themselves, so that connecting is not either.
  static long total, rows, bytes, nanos, cpu;
  static long start, startCpu;

  static boolean add(int count, long made, long wanted) {
    total += count;
    if (start == 0) {
      start = System.nanoTime();
      startCpu = SYSTEM.getProcessCpuTime();
    } else {
      rows += count;
      bytes += made;
    }
    if (total < wanted) return false;
    nanos += System.nanoTime() - start;
    cpu += SYSTEM.getProcessCpuTime() - startCpu;
    return true;
  }

  static void read(String[] a, long wanted, long serverId, AvroEvents avro) throws Exception {
    BinaryLogClient client = new BinaryLogClient("127.0.0.1", Integer.parseInt(a[0]), "root", "");
    client.setServerId(serverId);
    client.setBinlogFilename(a[1]);
    client.setBinlogPosition(Long.parseLong(a[2]));
    if (avro != null) {
      // Text as it is in the log and times as numbers: what Avro takes without another object.
      EventDeserializer deserializer = new EventDeserializer();
      deserializer.setCompatibilityMode(
          CompatibilityMode.DATE_AND_TIME_AS_LONG_MICRO, CompatibilityMode.CHAR_AND_BINARY_AS_BYTE_ARRAY);
      client.setEventDeserializer(deserializer);
    }
    total = 0;
    start = 0;
    CountDownLatch done = new CountDownLatch(1);
    client.registerEventListener(event -> {
      EventData data = event.getData();
      if (avro != null && data instanceof QueryEventData) avro.thread = ((QueryEventData) data).getThreadId();
      else if (avro != null && data instanceof GtidEventData) avro.gtid = new Utf8(((GtidEventData) data).getMySqlGtid().toString());
      int count;
      if (data instanceof WriteRowsEventData) count = ((WriteRowsEventData) data).getRows().size();
      else if (data instanceof UpdateRowsEventData) count = ((UpdateRowsEventData) data).getRows().size();
      else return;
      if (done.getCount() > 0 && add(count, avro == null ? 0 : avro.encode(event, client.getBinlogFilename()), wanted)) done.countDown();
    });
    Thread thread = new Thread(() -> {
      try {
        client.connect();
      } catch (Exception e) {
        e.printStackTrace();
        System.exit(1);
      }
    });
    thread.start();
    done.await();
    client.disconnect();
    thread.join();
  }

  public static void main(String[] a) throws Exception {
    LOGGER.setLevel(Level.WARNING);
    long wanted = Long.parseLong(a[3]);
    int warmUps = Integer.parseInt(a[4]);
    int passes = Integer.parseInt(a[5]);
    long serverId = Long.parseLong(a[6]);
    AvroEvents avro = a.length > 7 ? new AvroEvents(a[7], a[8]) : null;
    for (int i = 0; i < warmUps; i++) read(a, wanted, serverId + i, avro);
    rows = bytes = nanos = cpu = 0;
    for (int i = 0; i < passes; i++) read(a, wanted, serverId + warmUps + i, avro);
    System.out.printf(
        "{\"rows\":%d,\"bytes\":%s,\"seconds\":%s,\"cpuMicros\":%d}%n",
        rows, avro == null ? "null" : String.valueOf(bytes), nanos / 1e9, cpu / 1000);
    System.exit(0);
  }
}

/** Keys and Debezium's envelopes by Avro's own writer, from records that are filled again for each row. */
class AvroEvents {
  private static final byte[] FRAMING = {0, 0, 0, 0, 1};
  private final GenericDatumWriter<GenericData.Record> keyWriter, valueWriter;
  private final GenericData.Record key, envelope, source, before, after;
  private final int[] keyColumns;
  private final Column[] columns;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream(1 << 20);
  private final BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
  private final int posField, rowField, threadField, gtidField, fileField, tsMsField, tsUsField, tsNsField, serverIdField;
  Long thread;
  Utf8 gtid;

  interface Column {
    Object of(Serializable value);
  }

  AvroEvents(String keySchema, String valueSchema) {
    Schema keys = new Schema.Parser().parse(keySchema);
    Schema values = new Schema.Parser().parse(valueSchema);
    Schema row = nonNull(values.getField("after").schema());
    Schema origin = values.getField("source").schema();
    keyWriter = new GenericDatumWriter<>(keys);
    valueWriter = new GenericDatumWriter<>(values);
    key = new GenericData.Record(keys);
    envelope = new GenericData.Record(values);
    before = new GenericData.Record(row);
    after = new GenericData.Record(row);
    source = new GenericData.Record(origin);
    keyColumns = keys.getFields().stream().mapToInt(field -> row.getField(field.name()).pos()).toArray();
    columns = row.getFields().stream().map(field -> column(nonNull(field.schema()))).toArray(Column[]::new);
    source.put("version", new Utf8("0.1.0"));
    source.put("connector", new Utf8("mysql"));
    source.put("name", new Utf8("bench"));
    source.put("snapshot", new Utf8("false"));
    String[] names = values.getNamespace().split("\\.");
    source.put("db", new Utf8(names[1]));
    source.put("table", new Utf8(names[2]));
    posField = origin.getField("pos").pos();
    rowField = origin.getField("row").pos();
    threadField = origin.getField("thread").pos();
    gtidField = origin.getField("gtid").pos();
    fileField = origin.getField("file").pos();
    tsMsField = origin.getField("ts_ms").pos();
    tsUsField = origin.getField("ts_us").pos();
    tsNsField = origin.getField("ts_ns").pos();
    serverIdField = origin.getField("server_id").pos();
    envelope.put("source", source);
  }

  private static Schema nonNull(Schema schema) {
    if (schema.getType() != Schema.Type.UNION) return schema;
    return schema.getTypes().stream().filter(type -> type.getType() != Schema.Type.NULL).findFirst().orElseThrow();
  }

  private static Column column(Schema schema) {
    String name = String.valueOf(schema.getProp("connect.name"));
    switch (schema.getType()) {
      case INT:
        if (name.equals("io.debezium.time.Date")) return value -> (int) ((Long) value / 86_400_000_000L);
        return value -> ((Number) value).intValue();
      case LONG:
        return value -> value instanceof Integer ? (Long) (((Integer) value) & 0xffffffffL) : value;
      case STRING:
        if (name.equals("io.debezium.time.ZonedTimestamp"))
          return value -> {
            long micros = (Long) value;
            Instant instant = Instant.ofEpochSecond(Math.floorDiv(micros, 1_000_000L), Math.floorMod(micros, 1_000_000L) * 1000);
            return instant.atOffset(ZoneOffset.UTC).format(DateTimeFormatter.ISO_OFFSET_DATE_TIME);
          };
        if (name.equals("io.debezium.data.Enum")) {
          Object parameters = schema.getObjectProp("connect.parameters");
          String[] labels = String.valueOf(((Map<?, ?>) parameters).get("allowed")).split(",");
          return value -> labels[(Integer) value - 1];
        }
        return value -> new Utf8((byte[]) value);
      case BYTES:
        return value ->
            ByteBuffer.wrap(value instanceof BigDecimal ? ((BigDecimal) value).unscaledValue().toByteArray() : (byte[]) value);
      default:
        return value -> value;
    }
  }

  /** All rows of an event; returns how many bytes they are. */
  long encode(Event event, String file) {
    EventHeaderV4 header = event.getHeader();
    out.reset();
    source.put(tsMsField, header.getTimestamp());
    source.put(tsUsField, header.getTimestamp() * 1000);
    source.put(tsNsField, header.getTimestamp() * 1_000_000);
    source.put(serverIdField, header.getServerId());
    source.put(fileField, new Utf8(file));
    source.put(posField, header.getPosition());
    source.put(threadField, thread);
    source.put(gtidField, gtid);
    long now = System.currentTimeMillis();
    envelope.put("ts_ms", now);
    envelope.put("ts_us", now * 1000);
    envelope.put("ts_ns", now * 1_000_000);
    try {
      int number = 0;
      if (event.getData() instanceof WriteRowsEventData) {
        envelope.put("op", new Utf8("c"));
        envelope.put("before", null);
        for (Serializable[] row : ((WriteRowsEventData) event.getData()).getRows()) write(row, number++);
      } else {
        envelope.put("op", new Utf8("u"));
        envelope.put("before", before);
        List<Map.Entry<Serializable[], Serializable[]>> changed = ((UpdateRowsEventData) event.getData()).getRows();
        for (Map.Entry<Serializable[], Serializable[]> row : changed) {
          fill(before, row.getKey());
          write(row.getValue(), number++);
        }
      }
      encoder.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return out.size();
  }

  private void fill(GenericData.Record record, Serializable[] row) {
    for (int i = 0; i < columns.length; i++) record.put(i, row[i] == null ? null : columns[i].of(row[i]));
  }

  private void write(Serializable[] row, int number) throws IOException {
    fill(after, row);
    envelope.put("after", after);
    source.put(rowField, number);
    for (int i = 0; i < keyColumns.length; i++) key.put(i, after.get(keyColumns[i]));
    encoder.writeFixed(FRAMING);
    keyWriter.write(key, encoder);
    encoder.writeFixed(FRAMING);
    valueWriter.write(envelope, encoder);
  }
}
