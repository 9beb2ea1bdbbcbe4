//! The file system or object store under a lake.

use std::sync::Arc;

use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

use crate::{Address, Error};

/// A store, the place of the lake in it, and its address as the engine spells it.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub objects: Arc<dyn ObjectStore>,
    pub root: Path,
    pub url: Url,
}

/// Opens the store of an address; a missing folder is created by the first write.
pub(crate) fn open(address: &Address) -> Result<Store, Error> {
    let failed = |why: String| Error::Store { lake: address.to_string(), doing: "read", why };
    match address {
        Address::Folder(folder) => {
            let folder = std::path::absolute(folder).map_err(|error| failed(error.to_string()))?;
            let root = Path::from_absolute_path(&folder).map_err(|error| failed(error.to_string()))?;
            let url = Url::from_directory_path(&folder)
                .map_err(|()| failed("its path cannot be written as a URL".into()))?;
            // Object paths are relative to the root of the file system, as in the engine.
            Ok(Store { objects: Arc::new(LocalFileSystem::new()), root, url })
        }
        Address::Bucket { bucket, folder } => {
            let objects = s3_store(bucket).map_err(|error| failed(error.to_string()))?;
            let root = Path::parse(folder).map_err(|error| failed(error.to_string()))?;
            let slash = if folder.is_empty() { "" } else { "/" };
            let url = Url::parse(&format!("s3://{bucket}/{folder}{slash}"));
            Ok(Store { objects, root, url: url.map_err(|error| failed(error.to_string()))? })
        }
    }
}

/// A bucket, with endpoint, region and credentials from the usual variables (`AWS_ENDPOINT_URL`, `AWS_REGION`,
/// `AWS_ACCESS_KEY_ID` …).
pub fn s3_store(bucket: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let endpoint = std::env::var("AWS_ENDPOINT_URL").or_else(|_| std::env::var("AWS_ENDPOINT"));
    if endpoint.is_ok_and(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_allow_http(true);
    }
    Ok(Arc::new(builder.build()?))
}

/// The stores that an engine can reach: the file system, and buckets, which are opened on first use.
#[derive(Debug, Default)]
pub struct Stores(DefaultObjectStoreRegistry);

impl ObjectStoreRegistry for Stores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> datafusion::error::Result<Arc<dyn ObjectStore>> {
        let (known, bucket) = (self.0.get_store(url), url.host_str());
        match (known, url.scheme(), bucket) {
            (Err(_), "s3", Some(bucket)) => {
                let store = s3_store(bucket)?;
                self.0.register_store(url, Arc::clone(&store));
                Ok(store)
            }
            (known, _, _) => known,
        }
    }
}
