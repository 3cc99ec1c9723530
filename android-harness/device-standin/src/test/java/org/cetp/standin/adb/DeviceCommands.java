package org.cetp.standin.adb;

import android.os.Bundle;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.cetp.driver.RpcException;
import org.cetp.standin.Phone;
import org.robolectric.shadows.ShadowLog;

/** The commands of the device's shell that an adapter needs, over what the stand-in has. */
final class DeviceCommands implements Shell.Commands {
    private static final int BAD = 1;
    private static final int USAGE = 255;

    /** The package that every device has. */
    private static final String FRAMEWORK = "android";
    private static final DateTimeFormatter LOG_TIME =
            DateTimeFormatter.ofPattern("MM-dd HH:mm:ss.SSS").withZone(ZoneId.systemDefault());

    private static final Map<String, String> PROPERTIES =
            new TreeMap<>(
                    Map.of(
                            "ro.build.version.sdk", "34",
                            "ro.build.version.release", "14",
                            "ro.product.model", "CETP stand-in",
                            "ro.product.manufacturer", "none",
                            "ro.hardware", "robolectric",
                            "sys.boot_completed", "1",
                            "init.svc.bootanim", "stopped"));

    private final Phone phone;
    private final Map<String, byte[]> files;
    private final Instrumentations instrumentations;
    private final Map<String, String> settings = new TreeMap<>();

    DeviceCommands(Phone phone, Map<String, byte[]> files, Instrumentations instrumentations) {
        this.phone = phone;
        this.files = files;
        this.instrumentations = instrumentations;
    }

    @Override
    public int run(List<String> words, InputStream input, ShellOutput output) throws IOException {
        List<String> rest = words.subList(1, words.size());
        try {
            switch (words.get(0)) {
                case "getprop":
                    return getprop(rest, output);
                case "id":
                    output.line("uid=2000(shell) gid=2000(shell)");
                    return 0;
                case "pm":
                    return packages(rest, input, output);
                case "cmd":
                    boolean known = !rest.isEmpty() && rest.get(0).equals("package");
                    return known ? packages(rest.subList(1, rest.size()), input, output) : noService(rest, output);
                case "am":
                    return activities(rest, output);
                case "content":
                    return content(rest, output);
                case "logcat":
                    return logcat(rest, output);
                case "uiautomator":
                    return uiautomator(rest, output);
                case "input":
                    return input(rest, output);
                case "settings":
                    return settings(rest, output);
                case "dumpsys":
                    return dumpsys(rest, output);
                case "date":
                    return date(rest, output);
                case "wm":
                    return windows(rest, output);
                case "rm":
                    return remove(rest, output);
                case "appops":
                    // Nothing comes up from the background here, so nothing has to be allowed to.
                    return rest.size() == 4 && rest.get(0).equals("set") ? 0 : unknown("appops", rest, output);
                case "pidof":
                    // All of the stand-in is one process.
                    output.line(Long.toString(ProcessHandle.current().pid()));
                    return 0;
                default:
                    return NOT_FOUND;
            }
        } catch (RpcException failure) {
            output.err(failure.getMessage());
            return BAD;
        }
    }

    private static int unknown(String command, List<String> rest, ShellOutput output) throws IOException {
        output.err(command + ": the stand-in does not know: " + String.join(" ", rest));
        return USAGE;
    }

    private static int noService(List<String> rest, ShellOutput output) throws IOException {
        output.err("cmd: Can't find service: " + (rest.isEmpty() ? "" : rest.get(0)));
        return 20;
    }

    private static int getprop(List<String> rest, ShellOutput output) throws IOException {
        if (rest.isEmpty()) {
            for (Map.Entry<String, String> property : PROPERTIES.entrySet()) {
                output.line("[" + property.getKey() + "]: [" + property.getValue() + "]");
            }
        } else {
            output.line(PROPERTIES.getOrDefault(rest.get(0), ""));
        }
        return 0;
    }

    // --- pm ---

    private int packages(List<String> rest, InputStream input, ShellOutput output) throws IOException {
        List<String> plain = rest.stream().filter(word -> !word.startsWith("-")).toList();
        switch (plain.isEmpty() ? "" : plain.get(0)) {
            case "list":
                List<String> names = new ArrayList<>(phone.installed());
                names.add(0, FRAMEWORK);
                for (String name : names) {
                    if (plain.size() < 3 || name.contains(plain.get(2))) {
                        output.line("package:" + name);
                    }
                }
                return 0;
            case "path":
                if (plain.size() < 2 || !phone.installed().contains(plain.get(1))) {
                    return BAD;
                }
                output.line("package:/data/app/" + plain.get(1) + "/base.apk");
                return 0;
            case "install":
                return install(rest, plain, input, output);
            case "uninstall":
                boolean wasThere = plain.size() > 1 && phone.uninstall(plain.get(1));
                output.line(wasThere ? "Success" : "Failure [DELETE_FAILED_INTERNAL_ERROR]");
                return wasThere ? 0 : BAD;
            default:
                return unknown("pm", rest, output);
        }
    }

    /** From a file of the device, or, with its size after -S, from the stream. */
    private int install(List<String> rest, List<String> plain, InputStream input, ShellOutput output) throws IOException {
        int size = rest.indexOf("-S");
        byte[] apk = size >= 0 ? input.readNBytes(Integer.parseInt(rest.get(size + 1))) : files.get(plain.get(1));
        String name = apk == null ? null : ApkName.of(apk);
        if (name == null) {
            output.line("Failure [INSTALL_PARSE_FAILED_NOT_APK]");
            return BAD;
        }
        if (!phone.install(name)) {
            output.line("Failure [INSTALL_FAILED_INVALID_APK: the stand-in has no code for " + name + "]");
            return BAD;
        }
        output.line("Success");
        return 0;
    }

    // --- am ---

    private int activities(List<String> rest, ShellOutput output) throws IOException {
        switch (rest.isEmpty() ? "" : rest.get(0)) {
            case "instrument":
                return instrument(rest.subList(1, rest.size()), output);
            case "force-stop":
                String name = rest.get(rest.size() - 1);
                if (name.equals(Phone.FIXTURE)) {
                    phone.kill();
                } else if (name.equals(Phone.DRIVER_A) || name.equals(Phone.CONSUMER)) {
                    instrumentations.stop();
                }
                return 0;
            default:
                return unknown("am", rest, output);
        }
    }

    private int instrument(List<String> rest, ShellOutput output) throws IOException {
        boolean waits = false;
        String component = null;
        Map<String, String> arguments = new TreeMap<>();
        for (int i = 0; i < rest.size(); i++) {
            switch (rest.get(i)) {
                case "-w" -> waits = true;
                case "-r", "--no-hidden-api-checks", "--no-window-animation" -> {}
                case "-e" -> {
                    arguments.put(rest.get(i + 1), rest.get(i + 2));
                    i += 2;
                }
                default -> component = rest.get(i);
            }
        }
        if (!instrumentations.has(component)) {
            output.line("INSTRUMENTATION_STATUS: id=ActivityManagerService");
            output.line("INSTRUMENTATION_STATUS: Error=Unable to find instrumentation info for: ComponentInfo{" + component + "}");
            output.line("INSTRUMENTATION_STATUS_CODE: -1");
            return BAD;
        }
        Instrumentations.Run run = instrumentations.start(component, arguments, files);
        if (waits) {
            output.line("INSTRUMENTATION_STATUS: socket=" + run.socket());
            output.line("INSTRUMENTATION_STATUS_CODE: 1");
            output.line("INSTRUMENTATION_CODE: " + run.awaitEnd());
        }
        return 0;
    }

    // --- content ---

    private int content(List<String> rest, ShellOutput output) throws IOException {
        if (rest.isEmpty() || !rest.get(0).equals("call")) {
            return unknown("content", rest, output);
        }
        String authority = null;
        String method = null;
        String arg = null;
        Bundle extras = null;
        for (int i = 1; i + 1 < rest.size(); i += 2) {
            String value = rest.get(i + 1);
            switch (rest.get(i)) {
                case "--uri" -> authority = value.replaceFirst("^content://", "").replaceFirst("/.*$", "");
                case "--method" -> method = value;
                case "--arg" -> arg = value;
                case "--extra" -> {
                    extras = extras == null ? new Bundle() : extras;
                    if (!put(extras, value)) {
                        return unknown("content", rest, output);
                    }
                }
                default -> {
                    return unknown("content", rest, output);
                }
            }
        }
        try {
            Bundle reply = phone.callFromShell(authority, method, arg, extras);
            if (reply != null) {
                reply.size(); // an unparcelled Bundle prints its entries
            }
            output.line("Result: " + reply);
        } catch (Exception thrown) {
            // As on a device: the error is printed, and the exit code says nothing of it.
            output.err("Error while accessing provider:" + authority + "\n" + thrown);
        }
        return 0;
    }

    /** {@code key:type:value} with the types that the tool has. */
    private static boolean put(Bundle extras, String extra) {
        String[] parts = extra.split(":", 3);
        if (parts.length < 3) {
            return false;
        }
        switch (parts[1]) {
            case "b" -> extras.putBoolean(parts[0], Boolean.parseBoolean(parts[2]));
            case "s" -> extras.putString(parts[0], parts[2]);
            case "i" -> extras.putInt(parts[0], Integer.parseInt(parts[2]));
            case "l" -> extras.putLong(parts[0], Long.parseLong(parts[2]));
            case "f" -> extras.putFloat(parts[0], Float.parseFloat(parts[2]));
            case "d" -> extras.putDouble(parts[0], Double.parseDouble(parts[2]));
            case "n" -> extras.putString(parts[0], null);
            default -> {
                return false;
            }
        }
        return true;
    }

    // --- what is looked at ---

    /** In the form {@code threadtime}; all of the stand-in is one process. */
    private static int logcat(List<String> rest, ShellOutput output) throws IOException {
        if (rest.contains("-c")) {
            ShadowLog.clear();
            return 0;
        }
        if (!rest.contains("-d")) {
            return unknown("logcat", rest, output);
        }
        long sinceMs = 0;
        List<String> tags = new ArrayList<>();
        for (int i = 0; i < rest.size(); i++) {
            switch (rest.get(i)) {
                case "-d" -> {}
                case "-v" -> {
                    if (!rest.get(++i).equals("threadtime")) {
                        return unknown("logcat", rest, output);
                    }
                }
                case "-T" -> sinceMs = new BigDecimal(rest.get(++i)).movePointRight(3).longValue();
                case "-s" -> {
                    rest.subList(i + 1, rest.size()).forEach(tag -> tags.add(tag.replaceFirst(":.*$", "")));
                    i = rest.size();
                }
                default -> {
                    return unknown("logcat", rest, output);
                }
            }
        }
        long process = ProcessHandle.current().pid();
        for (ShadowLog.LogItem item : ShadowLog.getLogs()) {
            long atMs = Long.parseLong(item.timeString);
            if (atMs >= sinceMs && (tags.isEmpty() || tags.contains(item.tag))) {
                String head = LOG_TIME.format(Instant.ofEpochMilli(atMs)) + " " + process + " " + process + " "
                        + "?VDIWEF".charAt(Math.max(0, item.type - 1)) + " " + item.tag + ": ";
                String text = item.throwable == null ? item.msg : item.msg + "\n" + stackTrace(item.throwable);
                for (String line : text.split("\n")) {
                    output.line(head + line);
                }
            }
        }
        return 0;
    }

    private static String stackTrace(Throwable throwable) {
        StringWriter text = new StringWriter();
        throwable.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    private static int date(List<String> rest, ShellOutput output) throws IOException {
        if (!rest.equals(List.of("+%s"))) {
            return unknown("date", rest, output);
        }
        output.line(Long.toString(Instant.now().getEpochSecond()));
        return 0;
    }

    /** The screen here is always on, and has no lock. */
    private static int windows(List<String> rest, ShellOutput output) throws IOException {
        return rest.equals(List.of("dismiss-keyguard")) ? 0 : unknown("wm", rest, output);
    }

    private int remove(List<String> rest, ShellOutput output) throws IOException {
        if (rest.size() != 2 || !rest.get(0).equals("-f")) {
            return unknown("rm", rest, output);
        }
        files.remove(rest.get(1));
        return 0;
    }

    private int uiautomator(List<String> rest, ShellOutput output) throws IOException, RpcException {
        if (rest.isEmpty() || !rest.get(0).equals("dump")) {
            return unknown("uiautomator", rest, output);
        }
        String xml = phone.screen().dump();
        String path = rest.get(rest.size() - 1);
        if (path.equals("/dev/tty")) {
            output.out(xml);
        } else {
            path = rest.size() > 1 ? path : "/sdcard/window_dump.xml";
            files.put(path, xml.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }
        output.line("UI hierchary dumped to: " + path); // spelled as on a device
        return 0;
    }

    private int input(List<String> rest, ShellOutput output) throws IOException, RpcException {
        if (rest.size() == 3 && rest.get(0).equals("tap")) {
            phone.screen().tap(Integer.parseInt(rest.get(1)), Integer.parseInt(rest.get(2)));
        } else if (rest.size() == 2 && rest.get(0).equals("keyevent") && rest.get(1).matches("4|BACK|KEYCODE_BACK")) {
            phone.screen().back();
        } else if (rest.equals(List.of("keyevent", "KEYCODE_WAKEUP"))) {
            return 0; // it is always awake
        } else {
            return unknown("input", rest, output);
        }
        return 0;
    }

    /** Kept and shown again; nothing here has animations that a setting could turn off. */
    private int settings(List<String> rest, ShellOutput output) throws IOException {
        if (rest.size() == 4 && rest.get(0).equals("put")) {
            settings.put(rest.get(1) + "/" + rest.get(2), rest.get(3));
        } else if (rest.size() == 3 && rest.get(0).equals("delete")) {
            output.line("Deleted " + (settings.remove(rest.get(1) + "/" + rest.get(2)) == null ? 0 : 1) + " rows");
        } else if (rest.size() == 3 && rest.get(0).equals("get")) {
            output.line(settings.getOrDefault(rest.get(1) + "/" + rest.get(2), "null"));
        } else {
            return unknown("settings", rest, output);
        }
        return 0;
    }

    private int dumpsys(List<String> rest, ShellOutput output) throws IOException {
        if (rest.size() < 2 || !rest.get(0).equals("activity") || !rest.get(1).equals("exit-info")) {
            return unknown("dumpsys", rest, output);
        }
        output.line("ACTIVITY MANAGER PROCESS EXIT INFO (dumpsys activity exit-info)");
        if (rest.size() < 3 || rest.get(2).equals(Phone.FIXTURE)) {
            output.line("  package: " + Phone.FIXTURE);
            int number = 0;
            for (Instant death : phone.deaths()) {
                output.line("        ApplicationExitInfo #" + number++ + ":");
                output.line("          timestamp=" + death + " process=" + Phone.FIXTURE + " reason=2 (SIGNALED) status=9");
            }
        }
        return 0;
    }
}
