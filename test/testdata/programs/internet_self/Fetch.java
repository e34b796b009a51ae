import java.io.*;
import java.net.*;
import java.net.http.*;
import javax.net.ssl.SSLSocketFactory;

public class Fetch {
    public static void main(String[] args) {
        for (String arg : args) {
            String[] a = arg.split(":");
            long start = System.nanoTime();
            try {
                System.out.println(fetch(a[0], a[1]));
            } catch (Exception e) {
                boolean slow = System.nanoTime() - start > 3_000_000_000L;
                System.out.println((slow ? "slow " : "refused ") + e.getClass().getSimpleName());
            }
        }
    }

    static String fetch(String kind, String host) throws Exception {
        if (kind.equals("client")) {
            var r = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("https://" + host + "/")).build(), HttpResponse.BodyHandlers.ofString());
            return r.statusCode() + " " + r.body().trim();
        }
        if (kind.equals("url")) {
            return new String(new URL("https://" + host + "/").openStream().readAllBytes()).trim();
        }
        try (Socket s = SSLSocketFactory.getDefault().createSocket(host, 443)) {
            s.getOutputStream().write(("GET / HTTP/1.0\r\nHost: " + host + "\r\n\r\n").getBytes());
            String last = "";
            var in = new BufferedReader(new InputStreamReader(s.getInputStream()));
            for (String line; (line = in.readLine()) != null; ) last = line;
            return last;
        }
    }
}
