package org.cetp.standin;

import android.content.ComponentName;
import android.content.IntentFilter;
import android.content.pm.ActivityInfo;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageInfo;
import android.content.pm.PackageItemInfo;
import android.content.pm.ProviderInfo;
import android.content.pm.ServiceInfo;
import android.os.Bundle;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import javax.xml.parsers.DocumentBuilderFactory;
import org.robolectric.shadows.ShadowPackageManager;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** An app's own AndroidManifest.xml, read as far as the harness uses it, and installed as the package manager would. */
final class Manifest {
    private static final String ANDROID = "http://schemas.android.com/apk/res/android";

    private final PackageInfo info = new PackageInfo();
    private final List<ServiceInfo> services = new ArrayList<>();
    private final List<IntentFilter> serviceFilters = new ArrayList<>();

    /** @param fill what the build puts into the values of the manifest */
    Manifest(InputStream xml, UnaryOperator<String> fill) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        Element manifest = factory.newDocumentBuilder().parse(xml).getDocumentElement();
        Element application = child(manifest, "application");
        info.packageName = manifest.getAttribute("package");
        info.versionName = manifest.getAttributeNS(ANDROID, "versionName");
        info.applicationInfo = new ApplicationInfo();
        info.applicationInfo.packageName = info.packageName;
        info.applicationInfo.metaData = metaData(application, fill);
        info.services = components(application, "service", ServiceInfo.class, fill).toArray(new ServiceInfo[0]);
        info.activities = components(application, "activity", ActivityInfo.class, fill).toArray(new ActivityInfo[0]);
        info.providers = components(application, "provider", ProviderInfo.class, fill).toArray(new ProviderInfo[0]);
    }

    private <T extends PackageItemInfo> List<T> components(
            Element application, String tag, Class<T> type, UnaryOperator<String> fill) throws Exception {
        List<T> found = new ArrayList<>();
        for (Element element : children(application, tag)) {
            T component = type.getConstructor().newInstance();
            component.name = element.getAttributeNS(ANDROID, "name");
            component.packageName = info.packageName;
            component.metaData = metaData(element, fill);
            boolean exported = Boolean.parseBoolean(element.getAttributeNS(ANDROID, "exported"));
            if (component instanceof ServiceInfo service) {
                service.exported = exported;
                service.applicationInfo = info.applicationInfo;
                services.add(service);
                serviceFilters.add(filter(element));
            } else if (component instanceof ActivityInfo activity) {
                activity.exported = exported;
                activity.applicationInfo = info.applicationInfo;
            } else if (component instanceof ProviderInfo provider) {
                provider.exported = exported;
                provider.applicationInfo = info.applicationInfo;
                provider.authority = element.getAttributeNS(ANDROID, "authorities");
                String permission = element.getAttributeNS(ANDROID, "permission");
                provider.readPermission = permission.isEmpty() ? null : permission;
                provider.writePermission = provider.readPermission;
            }
            found.add(component);
        }
        return found;
    }

    private static IntentFilter filter(Element component) {
        IntentFilter filter = new IntentFilter();
        for (Element filters : children(component, "intent-filter")) {
            for (Element action : children(filters, "action")) {
                filter.addAction(action.getAttributeNS(ANDROID, "name"));
            }
        }
        return filter;
    }

    /** The compiler makes Ints of whole numbers and Booleans of true and false; everything else stays a String. */
    private static Bundle metaData(Element component, UnaryOperator<String> fill) {
        Bundle metaData = new Bundle();
        for (Element entry : children(component, "meta-data")) {
            String name = entry.getAttributeNS(ANDROID, "name");
            String value = fill.apply(entry.getAttributeNS(ANDROID, "value"));
            if (value.matches("-?[0-9]{1,9}")) {
                metaData.putInt(name, Integer.parseInt(value));
            } else if (value.equals("true") || value.equals("false")) {
                metaData.putBoolean(name, Boolean.parseBoolean(value));
            } else {
                metaData.putString(name, value);
            }
        }
        return metaData;
    }

    private static Element child(Element parent, String tag) {
        return children(parent, tag).get(0);
    }

    private static List<Element> children(Element parent, String tag) {
        List<Element> found = new ArrayList<>();
        NodeList nodes = parent.getChildNodes();
        for (int i = 0; i < nodes.getLength(); i++) {
            if (nodes.item(i) instanceof Element element && element.getTagName().equals(tag)) {
                found.add(element);
            }
        }
        return found;
    }

    String packageName() {
        return info.packageName;
    }

    ApplicationInfo application() {
        return info.applicationInfo;
    }

    ProviderInfo provider(String className) {
        for (ProviderInfo provider : info.providers) {
            if (provider.name.equals(className)) {
                return provider;
            }
        }
        throw new IllegalArgumentException("no provider " + className + " in the manifest of " + packageName());
    }

    void install(ShadowPackageManager packages, int uid, String certificateOwner) {
        info.applicationInfo.uid = uid;
        info.signingInfo = Certificates.signedBy(certificateOwner);
        // Components that are added one by one may have filters; those that come with the package may not.
        ActivityInfo[] activities = info.activities;
        info.activities = null;
        info.services = null;
        packages.installPackage(info);
        packages.setPackagesForUid(uid, info.packageName);
        for (ActivityInfo activity : activities) {
            packages.addOrUpdateActivity(activity);
        }
        for (int i = 0; i < services.size(); i++) {
            ComponentName name = new ComponentName(info.packageName, services.get(i).name);
            packages.addOrUpdateService(services.get(i));
            packages.addIntentFilterForService(name, serviceFilters.get(i));
        }
    }
}
