package org.cetp.driver;

import android.content.Intent;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.content.pm.ProviderInfo;
import android.content.pm.ResolveInfo;
import android.content.pm.ServiceInfo;
import android.os.Bundle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.cetp.codec.BundleCodec;
import org.cetp.json.Json;

/** What the package manager tells of a provider's manifest (§2.1), as {@code provider.manifest} has it. */
final class ManifestReader {
    static final String ACTION = "com.clawseed.action.TOOL_PROVIDER";
    private static final String AUTHORITY = "com.clawseed.tools.authority";
    private static final String VERSION = "com.clawseed.tools.version";
    private static final String VERSIONS = "com.clawseed.tools.versions";

    private final PackageManager packages;
    private final BundleCodec codec;

    ManifestReader(PackageManager packages, BundleCodec codec) {
        this.packages = packages;
        this.codec = codec;
    }

    Map<String, Object> read(String packageName) throws RpcException {
        PackageInfo info = info(packageName);
        Set<String> discovered = discovered(packageName);
        List<Object> services = new ArrayList<>();
        if (info.services != null) {
            for (ServiceInfo service : info.services) {
                // The filters of a component are not told; that it is found by the action is.
                List<Object> actions =
                        discovered.contains(service.name) ? Arrays.<Object>asList(ACTION) : new ArrayList<Object>();
                services.add(
                        Json.objectOf(
                                "name", service.name,
                                "exported", service.exported,
                                "actions", actions,
                                "meta_data", codec.encode(service.metaData == null ? Bundle.EMPTY : service.metaData)));
            }
        }
        List<Object> providers = new ArrayList<>();
        if (info.providers != null) {
            for (ProviderInfo provider : info.providers) {
                for (String authority : provider.authority.split(";")) {
                    providers.add(
                            Json.objectOf(
                                    "name", provider.name,
                                    "authority", authority,
                                    "exported", provider.exported,
                                    "permission", provider.readPermission));
                }
            }
        }
        return Json.objectOf("package", packageName, "services", services, "providers", providers);
    }

    /** The authority that the discovery service names. */
    String authorityOf(String packageName) throws RpcException {
        return metaDataOf(packageName).getString(AUTHORITY);
    }

    /**
     * The versions of the protocol that the discovery service names, of those that there are. Where it names none, the one that
     * it is tested for: what is wrong with the manifest is for the vectors to say.
     */
    @SuppressWarnings("deprecation") // a single number is no text, and the typed getters give nothing for it
    List<Object> versionsOf(String packageName) throws RpcException {
        Bundle metaData = metaDataOf(packageName);
        List<String> named = Arrays.asList((metaData.get(VERSION) + "," + metaData.get(VERSIONS)).replace(" ", "").split(","));
        List<Object> versions = new ArrayList<>();
        for (int version = 1; version <= 2; version++) {
            if (named.contains(Integer.toString(version))) {
                versions.add(version);
            }
        }
        return versions.isEmpty() ? Arrays.<Object>asList(2) : versions;
    }

    /** What the discovery service says, which names an authority. */
    private Bundle metaDataOf(String packageName) throws RpcException {
        PackageInfo info = info(packageName);
        Set<String> discovered = discovered(packageName);
        if (info.services != null) {
            for (ServiceInfo service : info.services) {
                boolean found = discovered.contains(service.name) && service.metaData != null;
                if (found && service.metaData.getString(AUTHORITY) != null) {
                    return service.metaData;
                }
            }
        }
        throw RpcException.cannotAct(packageName + " has no service with " + ACTION + " and an authority");
    }

    private PackageInfo info(String packageName) throws RpcException {
        try {
            return packages.getPackageInfo(
                    packageName,
                    PackageManager.GET_SERVICES | PackageManager.GET_PROVIDERS | PackageManager.GET_META_DATA);
        } catch (PackageManager.NameNotFoundException notThere) {
            throw RpcException.cannotAct(packageName + " is not installed, or not visible to the driver");
        }
    }

    private Set<String> discovered(String packageName) {
        Set<String> names = new HashSet<>();
        Intent intent = new Intent(ACTION).setPackage(packageName);
        for (ResolveInfo found : packages.queryIntentServices(intent, 0)) {
            names.add(found.serviceInfo.name);
        }
        return names;
    }
}
