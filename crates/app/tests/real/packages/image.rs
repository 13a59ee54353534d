//! The container image, unpacked by digests as the specification of the OCI image layout says, and started as its user over a root
//! that nobody can write to.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::{Dist, sandbox, succeed, use_it};

/// An image that was unpacked.
struct Image {
    config: Value,
    /// The folder of its files.
    root: TempDir,
}

/// An archive that was unpacked.
struct Layout {
    folder: TempDir,
}

pub(crate) fn check(dist: &Dist, archive: &Path, architecture: &str, is_static: bool) {
    eprintln!("the container image");
    let root = tempfile::tempdir().unwrap();
    if !is_static {
        // Then only the library is missing.
        sandbox::unpack_debian(root.path());
    }
    let clock = dist.clock();
    let image = Layout::unpack(archive).image(architecture, root);
    let settings = &image.config["config"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let words = |value: &Value| value.as_array().unwrap().iter().map(text).collect::<Vec<_>>();
    let entrypoint = words(&settings["Entrypoint"]);
    let user = settings["User"].as_str().unwrap();
    let user = user.strip_suffix(":65532").expect("its group is its own");
    assert_eq!(user, "65532");
    assert_eq!(settings["Cmd"], json!(["serve", "--listen", "0.0.0.0:7300"]));
    let users = fs::read_to_string(image.root.path().join("etc/passwd")).unwrap();
    assert!(users.contains("switchboard:x:65532:65532:"), "{users}");
    let authorities = image.root.path().join("etc/ssl/certs/ca-certificates.crt");
    assert!(fs::read_to_string(authorities).unwrap().contains("BEGIN CERTIFICATE"));

    let state = tempfile::tempdir().unwrap();
    let volume = settings["Volumes"].as_object().unwrap().keys().next().unwrap();
    let start = || {
        let mut command = sandbox::as_user(image.root.path(), user, state.path(), volume);
        let variables = words(&settings["Env"]);
        command.envs(variables.iter().map(|variable| variable.split_once('=').unwrap()));
        command.args(&entrypoint);
        command
    };
    use_it(&start, clock);
    // What it keeps is in the volume, and nowhere else can it write.
    assert!(succeed(start().arg("calls")).contains("\tmath_eval\t"));
    assert!(state.path().join("journal").is_dir());
    let refused = start()
        .args(["calls", "export", "--output", "/usr/calls"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("Read-only file system"), "{said}");
}

/// The program in the image.
pub(crate) fn program_in(archive: &Path, architecture: &str) -> Vec<u8> {
    let image = Layout::unpack(archive).image(architecture, tempfile::tempdir().unwrap());
    fs::read(image.root.path().join("usr/bin/switchboard")).unwrap()
}

impl Layout {
    fn unpack(archive: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        succeed(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(folder.path()));
        let version = json(&fs::read(folder.path().join("oci-layout")).unwrap());
        assert_eq!(version, json!({"imageLayoutVersion": "1.0.0"}));
        Self { folder }
    }

    /// The blob that a descriptor names, which must be of its kind, size and digest.
    fn blob(&self, descriptor: &Value, kind: &str) -> (PathBuf, Vec<u8>) {
        let digest = descriptor["digest"].as_str().unwrap();
        let path = self.folder.path().join("blobs").join(digest.replace(':', "/"));
        let content = fs::read(&path).unwrap();
        assert_eq!(descriptor["mediaType"], format!("application/vnd.oci.image.{kind}"));
        assert_eq!(descriptor["size"], content.len());
        assert_eq!(digest, digest_of(&content));
        (path, content)
    }

    /// The image for an architecture, with its files in `root`.
    fn image(&self, architecture: &str, root: TempDir) -> Image {
        let index = json(&fs::read(self.folder.path().join("index.json")).unwrap());
        assert_eq!(index["schemaVersion"], 2);
        let (_, images) = self.blob(&index["manifests"][0], "index.v1+json");
        let images = json(&images);
        let wanted = json!({"os": "linux", "architecture": architecture});
        let mut images = images["manifests"].as_array().unwrap().iter();
        let image = images.find(|image| image["platform"] == wanted).expect("an image for it");
        let manifest = json(&self.blob(image, "manifest.v1+json").1);
        let config = json(&self.blob(&manifest["config"], "config.v1+json").1);
        let layers = manifest["layers"].as_array().unwrap();
        assert_eq!(layers.len(), config["rootfs"]["diff_ids"].as_array().unwrap().len());
        for (layer, whole) in layers.iter().zip(config["rootfs"]["diff_ids"].as_array().unwrap()) {
            let (path, _) = self.blob(layer, "layer.v1.tar+gzip");
            let unpacked =
                Command::new("gzip").arg("-dc").stdin(fs::File::open(&path).unwrap()).output();
            assert_eq!(*whole, digest_of(&unpacked.unwrap().stdout));
            let mut listed = Command::new("tar");
            let listed = succeed(listed.args(["--numeric-owner", "-tvzf"]).arg(&path));
            let is_own = |line: &str| {
                line.starts_with("drwx------ 65532/65532")
                    && line.ends_with(" var/lib/switchboard/")
            };
            assert!(listed.lines().any(is_own), "{listed}");
            let mut tar = Command::new("tar");
            tar.args(["--no-same-owner", "--keep-directory-symlink", "-xzf"]).arg(&path);
            succeed(tar.arg("-C").arg(root.path()));
        }
        assert_eq!(
            (&config["os"], &config["architecture"]),
            (&json!("linux"), &json!(architecture))
        );
        Image { config, root }
    }
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn digest_of(content: &[u8]) -> String {
    let digest: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digest}")
}
