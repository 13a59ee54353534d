//! A container image, written as an archive of the OCI image layout without any daemon: `podman load`, `docker load`, `skopeo`.
//!
//! It holds the program, the certificate authorities that Mozilla trusts, and a user; no shell and no package manager. The
//! program runs as that user and writes to `/var/lib/switchboard` and `/tmp` alone, so the root can be read-only.

use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    Release,
    files::{EXECUTABLE, PLAIN, PackageFile, gzip, tar},
    platform::PlatformProgram,
    sums,
};

/// The user that the program runs as, as in other images without a shell.
const USER: u32 = 65532;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Makes the archive; returns its name and its bytes.
pub(super) fn package(release: &Release) -> Result<(String, Vec<u8>)> {
    let mut blobs = Blobs::default();
    let mut manifests = Vec::new();
    for program in &release.programs {
        manifests.push(image(release, program, &mut blobs)?);
    }
    let images = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
    let mut images = blobs.add(INDEX, images.to_string().into_bytes());
    let name = format!("switchboard:{}", release.version);
    images["annotations"] = json!({
        "org.opencontainers.image.ref.name": release.version,
        // What podman and docker call the image when they load it.
        "io.containerd.image.name": format!("localhost/{name}"),
    });
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [images]});
    let mut files = vec![
        PackageFile::new("oci-layout", PLAIN, json!({"imageLayoutVersion": "1.0.0"}).to_string()),
        PackageFile::new("index.json", PLAIN, index.to_string()),
    ];
    files.extend(blobs.0);
    let archive = tar(&files, "", release.modified)?;
    Ok((format!("switchboard-{}-oci.tar", release.version), archive))
}

/// Adds the image of one architecture, and returns its descriptor.
fn image(release: &Release, program: &PlatformProgram, blobs: &mut Blobs) -> Result<Value> {
    let layer = tar(&root(release, program), "", release.modified)?;
    let whole = digest(&layer);
    let layer = blobs.add(LAYER, gzip(&layer, release.compression)?);
    let labels = json!({
        "org.opencontainers.image.title": "switchboard",
        "org.opencontainers.image.description": release.description,
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.revision": release.commit,
        "org.opencontainers.image.licenses": release.licence,
        "org.opencontainers.image.source": release.repository,
    });
    let platform = json!({"os": "linux", "architecture": program.architecture.debian_name()});
    let config = json!({
        "created": release.date,
        "os": platform["os"],
        "architecture": platform["architecture"],
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": ["/usr/bin/switchboard"],
            "Cmd": ["serve", "--listen", "0.0.0.0:7300"],
            "Env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=/var/lib/switchboard",
                "XDG_STATE_HOME=/var/lib",
                "XDG_CONFIG_HOME=/etc",
                "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
            ],
            "WorkingDir": "/var/lib/switchboard",
            "ExposedPorts": {"7300/tcp": {}},
            "Volumes": {"/var/lib/switchboard": {}},
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [whole]},
        "history": [{"created": release.date, "created_by": "cargo xtask dist"}],
    });
    let config = blobs.add(CONFIG, config.to_string().into_bytes());
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer], "annotations": labels,
    });
    let mut described = blobs.add(MANIFEST, manifest.to_string().into_bytes());
    described["platform"] = platform;
    Ok(described)
}

/// The files of the image.
fn root(release: &Release, program: &PlatformProgram) -> Vec<PackageFile> {
    let user = format!("switchboard:x:{USER}:{USER}::/var/lib/switchboard:/sbin/nologin\n");
    let users = format!("root:x:0:0:root:/root:/sbin/nologin\n{user}");
    let groups = format!("root:x:0:\nswitchboard:x:{USER}:\n");
    let mut files = vec![
        PackageFile::new("etc/passwd", PLAIN, users),
        PackageFile::new("etc/group", PLAIN, groups),
        PackageFile::new(
            "etc/ssl/certs/ca-certificates.crt",
            PLAIN,
            &*release.certificate_authorities,
        ),
        PackageFile::folder("etc/switchboard", 0o755, 0),
        PackageFile::folder("tmp", 0o1777, 0),
        PackageFile::new("usr/bin/switchboard", EXECUTABLE, &*program.bytes),
        PackageFile::folder("var/lib/switchboard", 0o700, USER),
    ];
    let documents = release.documents.iter();
    files.extend(documents.map(|file| file.at(format!("usr/share/doc/switchboard/{}", file.path))));
    files
}

/// What the manifests refer to, by digest.
#[derive(Default)]
struct Blobs(Vec<PackageFile>);

impl Blobs {
    /// Adds a blob and returns its descriptor.
    fn add(&mut self, kind: &str, content: Vec<u8>) -> Value {
        let digest = digest(&content);
        let size = content.len();
        self.0.push(PackageFile::new(
            format!("blobs/{}", digest.replace(':', "/")),
            PLAIN,
            content,
        ));
        json!({"mediaType": kind, "digest": digest, "size": size})
    }
}

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", sums::hex(&Sha256::digest(content)))
}
