package org.cetp.standin.adb;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/** The transport, spoken to message by message; that Debian's adb server is content with it is shown by suite.sh. */
public class TransportTest {
    private static final int VERSION = 0x01000001;
    private static final int MAX_DATA = 4096;

    private Daemon daemon;
    private Socket socket;
    private DataInputStream in;

    @Before
    public void connect() throws IOException {
        Shell.Commands commands = (words, input, output) -> {
            if (!words.get(0).equals("say")) {
                return Shell.Commands.NOT_FOUND;
            }
            output.line(String.join("|", words));
            output.err("to stderr");
            return 7;
        };
        DeviceServices.SocketOwner echo = InputStream::transferTo;
        daemon = new Daemon(0, new DeviceServices(commands, name -> name.equals("echo") ? echo : null, new HashMap<>()));
        Thread accepting = new Thread(daemon::run);
        accepting.setDaemon(true);
        accepting.start();
        socket = new Socket(InetAddress.getLoopbackAddress(), daemon.port());
        socket.setSoTimeout(20_000);
        in = new DataInputStream(socket.getInputStream());
        send(new Message(Message.CNXN, VERSION, MAX_DATA, "host::".getBytes(StandardCharsets.UTF_8)));
        Message banner = Message.read(in);
        assertEquals(Message.CNXN, banner.command());
        assertTrue(banner.text().startsWith("device::") && banner.text().contains("shell_v2"));
    }

    @After
    public void close() throws IOException {
        socket.close();
        daemon.close();
    }

    private void send(Message message) throws IOException {
        socket.getOutputStream().write(message.bytes());
    }

    private Message open(int id, String service) throws IOException {
        send(new Message(Message.OPEN, id, 0, (service + "\0").getBytes(StandardCharsets.UTF_8)));
        return Message.read(in);
    }

    /** Everything that a service writes until it closes. */
    private byte[] all(int id, int theirs) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Message next = Message.read(in); next.command() != Message.CLSE; next = Message.read(in)) {
            if (next.command() == Message.WRTE) {
                assertTrue("a piece is longer than was agreed on", next.payload().length <= MAX_DATA);
                all.write(next.payload());
                send(new Message(Message.OKAY, id, theirs));
            }
        }
        return all.toByteArray();
    }

    @Test
    public void theShellTellsStreamsAndExitCode() throws IOException {
        Message opened = open(1, "shell,v2,raw:say 'a b' c\\ d; echo RC=$?");
        assertEquals(Message.OKAY, opened.command());
        byte[] expected = packets(1, "say|a b|c d\n", 2, "to stderr\n", 1, "RC=7\n", 3, "\0");
        assertArrayEquals(expected, all(1, opened.arg0()));
    }

    private static byte[] packets(Object... kindsAndTexts) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int i = 0; i < kindsAndTexts.length; i += 2) {
            byte[] text = ((String) kindsAndTexts[i + 1]).getBytes(StandardCharsets.UTF_8);
            all.write((Integer) kindsAndTexts[i]);
            all.write(new byte[] {(byte) text.length, 0, 0, 0});
            all.write(text);
        }
        return all.toByteArray();
    }

    @Test
    public void anUnknownServiceOrSocketIsRefused() throws IOException {
        assertEquals(Message.CLSE, open(1, "jdwp:1").command());
        assertEquals(Message.CLSE, open(2, "localabstract:nobody").command());
    }

    @Test
    public void aSocketIsAStreamBothWays() throws IOException {
        Message opened = open(5, "localabstract:echo");
        byte[] sent = new byte[3 * MAX_DATA];
        new java.util.Random(1).nextBytes(sent);
        ByteArrayOutputStream back = new ByteArrayOutputStream();
        for (int at = 0; at < sent.length; at += MAX_DATA) {
            send(new Message(Message.WRTE, 5, opened.arg0(), java.util.Arrays.copyOfRange(sent, at, at + MAX_DATA)));
            while (back.size() < at + MAX_DATA) {
                Message next = Message.read(in);
                if (next.command() == Message.WRTE) {
                    back.write(next.payload());
                    send(new Message(Message.OKAY, 5, opened.arg0()));
                }
            }
        }
        assertArrayEquals(sent, back.toByteArray());
        send(new Message(Message.CLSE, 5, opened.arg0()));
    }

    @Test
    public void whatIsNoMessageEndsTheConnection() throws IOException {
        socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8));
        assertNull(Message.read(in));
    }

    @Test
    public void commandLinesAreSplitAsAShellDoes() throws CommandLine.SyntaxException {
        List<CommandLine.Command> commands = CommandLine.parse("a 'b c' \"d \\\"e\" f\\ g && h;i ''");
        assertEquals(List.of("a", "b c", "d \"e", "f g"), commands.get(0).words());
        assertEquals(CommandLine.Join.IF_GOOD, commands.get(1).join());
        assertEquals(List.of("i", ""), commands.get(2).words());
        for (String wrong : new String[] {"a | b", "a > b", "a `b`", "a &", "'a", "a\\"}) {
            org.junit.Assert.assertThrows(wrong, CommandLine.SyntaxException.class, () -> CommandLine.parse(wrong));
        }
    }
}
