// SPDX-License-Identifier: Apache-2.0
package nmd.auxhost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The lines between nmd and this process. README describes them. */
final class Control {
    private final BufferedReader in;
    private final OutputStream out;
    private final ObjectMapper mapper = new ObjectMapper();

    Control(InputStream in, OutputStream out) {
        this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        this.out = out;
    }

    // ---- output ----

    private void send(ObjectNode line) throws IOException {
        out.write((mapper.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    void sendFailure(String words) throws IOException {
        String text = words.length() > 1500 ? words.substring(0, 1500) : words;
        ObjectNode line = mapper.createObjectNode();
        line.put("failed", text);
        send(line);
    }

    void sendReady(Map<String, ByteBuffer> metadata) throws IOException {
        for (Map.Entry<String, ByteBuffer> entry : metadata.entrySet()) {
            ObjectNode line = mapper.createObjectNode();
            ObjectNode one = line.putObject("metadata");
            one.put("service", entry.getKey());
            one.put("data", hex(entry.getValue()));
            send(line);
        }
        ObjectNode line = mapper.createObjectNode();
        line.put("listening", 1);
        send(line);
    }

    static String hex(ByteBuffer data) {
        StringBuilder text = new StringBuilder();
        ByteBuffer copy = data.duplicate();
        while (copy.hasRemaining()) {
            text.append(String.format("%02x", copy.get() & 0xff));
        }
        return text.toString();
    }

    // ---- input ----

    /** Carries out lines until the end of the input. */
    void serve(HostedServices services) throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = mapper.createObjectNode();
            try {
                handle(mapper.readTree(line), services, answer);
            } catch (IOException | RuntimeException e) {
                answer.removeAll();
                answer.put("error", HostedServices.words(e));
            }
            send(answer);
        }
    }

    private static void handle(JsonNode line, HostedServices services, ObjectNode answer) {
        Map.Entry<String, JsonNode> request = line.fields().next();
        JsonNode o = request.getValue();
        switch (request.getKey()) {
            case "application_init":
                services.initializeApplication(text(o, "user"), text(o, "application"), text(o, "service"),
                    bytes(o, "data"));
                break;
            case "application_stop":
                services.stopApplication(text(o, "application"));
                answer.put("stopped", text(o, "application"));
                return;
            case "container_init":
                services.initializeContainer(container(o));
                break;
            case "container_stop":
                services.stopContainer(container(o));
                break;
            default:
                throw new IllegalArgumentException("unknown request " + request.getKey());
        }
        answer.putObject("ok");
    }

    private static HostedServices.ContainerFacts container(JsonNode o) {
        HostedServices.ContainerFacts facts = new HostedServices.ContainerFacts();
        facts.id = text(o, "container");
        facts.user = text(o, "user");
        facts.memoryMb = o.path("memory_mb").asLong();
        facts.vcores = o.path("vcores").asInt();
        facts.isMaster = o.path("master").asBoolean();
        return facts;
    }

    private static String text(JsonNode o, String name) {
        JsonNode value = o.get(name);
        if (value == null || !value.isTextual()) {
            throw new IllegalArgumentException("the request has no " + name);
        }
        return value.asText();
    }

    private static byte[] bytes(JsonNode o, String name) {
        String digits = text(o, name);
        if (digits.length() % 2 != 0) {
            throw new IllegalArgumentException(name + " has an odd number of digits");
        }
        byte[] data = new byte[digits.length() / 2];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return data;
    }
}
